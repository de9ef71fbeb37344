#include "cli/work_pace.h"

#include <catch2/catch.hpp>

using namespace cffs;
using namespace cffs::cli;

TEST_CASE("a step is told with its rate and what is left, once there is a second of it") {
  WorkPace pace;
  pace.note({"moving", 0, 4000, "files"}, 0);
  CHECK(pace.sentence() == "moving: 0 of 4000 files");
  pace.note({"moving", 100, 4000, "files"}, 500);
  CHECK(pace.sentence() == "moving: 100 of 4000 files");
  pace.note({"moving", 400, 4000, "files"}, 2000);
  CHECK(pace.sentence() == "moving: 400 of 4000 files, 200/s, 0:18 left");
}

TEST_CASE("what nobody knows the end of has a rate alone; bytes are told for people") {
  WorkPace pace;
  pace.note({"reading", 0, 0, WorkStep::kBytes}, 0);
  pace.note({"reading", 50'000'000, 0, WorkStep::kBytes, "3 damaged"}, 2000);
  CHECK(pace.sentence() == "reading: 50.0 MB, 25.0 MB/s, 3 damaged");
  // More than was thought: the end is not known any more.
  pace.note({"reading", 90'000'000, 80'000'000, WorkStep::kBytes}, 4000);
  CHECK(pace.sentence() == "reading: 90.0 MB, 22.5 MB/s");
}

TEST_CASE("where units differ, the time left goes by what they cost") {
  WorkPace pace;
  WorkStep step{"", 0, 1000, "files"};
  step.effort_in_all = 100'000;
  pace.note(step, 0);
  step.done = 900;  // the small ones
  step.effort = 10'000;
  pace.note(step, 2000);
  CHECK(pace.sentence() == "900 of 1000 files, 450/s, 0:18 left");
  // Of an archive nobody knows how many files it has, but how far it has been read.
  step.in_all = 0;
  pace.note(step, 2000);
  CHECK(pace.sentence() == "900 files, 450/s, 0:18 left");
  step.effort = 200'000;
  pace.note(step, 4000);
  CHECK(pace.sentence() == "900 files, 225/s");
}

TEST_CASE("the rate is that of the last while") {
  WorkPace pace;
  for (int second = 0; second <= 100; ++second)
    pace.note({"copying", static_cast<std::uint64_t>(second) * 1000, 200'000, "files"}, second * 1000);
  for (int second = 101; second <= 140; ++second)
    pace.note({"copying", 100'000 + static_cast<std::uint64_t>(second - 100) * 10, 200'000, "files"},
              second * 1000);
  CHECK(pace.sentence() == "copying: 100400 of 200000 files, 10/s, 2:46:00 left");
}

TEST_CASE("another step begins anew, and so does one that goes back") {
  WorkPace pace;
  pace.note({"looking", 0, 0, "files"}, 0);
  pace.note({"looking", 9000, 0, "files"}, 3000);
  CHECK(pace.sentence() == "looking: 9000 files, 3000/s");
  pace.note({"moving", 10, 20, "files"}, 6000);
  CHECK(pace.sentence() == "moving: 10 of 20 files");
  pace.note({"moving", 15, 20, "files"}, 8000);
  CHECK(pace.sentence() == "moving: 15 of 20 files, 2.5/s, 0:02 left");
  pace.note({"moving", 1, 20, "files"}, 10'000);
  CHECK(pace.sentence() == "moving: 1 of 20 files");
}

TEST_CASE("a job that stands still has no rate, and one that is not counted has its name") {
  WorkPace pace;
  pace.note({"moving", 5, 20, "files"}, 0);
  pace.note({"moving", 5, 20, "files"}, 60'000);
  CHECK(pace.sentence() == "moving: 5 of 20 files");
  pace.note({"making it durable"}, 61'000);
  CHECK(pace.sentence() == "making it durable");
}

TEST_CASE("times are told as a clock tells them") {
  CHECK(clock_time(9) == "0:09");
  CHECK(clock_time(720) == "12:00");
  CHECK(clock_time(3723) == "1:02:03");
}

TEST_CASE("a step goes from one process to another, and what is none is empty") {
  const WorkStep step = step_of_json(step_json({"moving", 3, 9, "files", "1 damaged"}));
  CHECK(step.what == "moving");
  CHECK(step.done == 3);
  CHECK(step.in_all == 9);
  CHECK(step.unit == "files");
  CHECK(step.aside == "1 damaged");
  for (const char* const text : {"", "null", "[1]", "{\"what\": 3, \"done\": -1}", "no JSON"}) {
    CHECK(step_of_json(text).what.empty());
    CHECK(step_of_json(text).done == 0);
  }
}
