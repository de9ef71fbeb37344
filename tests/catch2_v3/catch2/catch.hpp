// Catch2 3 under the name that Catch2 2 has. On the include path where the former is installed.
#pragma once

#include <catch2/catch_all.hpp>

using Catch::Approx;
