// What LevelDB calls its files: FOLDER/000005.log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cffs {

inline constexpr std::string_view kLogEnding = ".log";
inline constexpr std::string_view kTableEnding = ".ldb";

std::string table_file_name(std::string_view folder, std::uint64_t number, std::string_view ending);
// 0: no file of this kind in the folder itself; what LevelDB's repair put aside is in one below.
std::uint64_t table_file_number(std::string_view name, std::string_view folder, std::string_view ending);

}  // namespace cffs
