#include "exercise/catalogue.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::exercise {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("an exercise is found by its number, with one digit too, and by its name", "[exercise]") {
  Exercise first, second;
  first.id = "02.1";
  first.name = "1_reduce_scatter";
  second.id = "02.2";
  second.name = "2_all_gather";
  const std::vector<Exercise> catalogue = {first, second};
  for (const char* word : {"02.2", "2.2", "02.2_all_gather", "all_gather"})
    CHECK(find_exercise(catalogue, word).id == "02.2");
  CHECK_THROWS_WITH(find_exercise(catalogue, "all_gathe"), ContainsSubstring("all_gather"));
  CHECK_THROWS_AS(find_exercise(catalogue, "7"), UsageError);
}

TEST_CASE("a hint has a line for each paragraph and each item, whatever its file's lines", "[exercise]") {
  const test::TemporaryFolder folder;
  Exercise exercise;
  exercise.chapter = "02_x";
  exercise.name = "1_y";
  std::filesystem::create_directories(folder / "exercises/02_x/1_y");
  write_file(
      folder / "exercises/02_x/1_y/hints.md",
      "# Hints\n\n## 1\n\nOne\ntwo.\n\nThree:\n\n1. four\n   five\n2. six\n- seven\n  eight\n\nnine\n\n## 2\n\nten\n");
  CHECK(read_hints(folder.path(), exercise) ==
        std::vector<std::string>{"One two.\n\nThree:\n\n1. four five\n2. six\n- seven eight\n\nnine\n", "ten\n"});
}

TEST_CASE("exercises come in the order of their numbers, and those from 50 on are a lecturer's", "[exercise]") {
  const test::TemporaryFolder folder;
  for (const std::string number : {"50", "9", "10"}) {
    const std::filesystem::path place = folder.path() / "exercises" / "02_x" / (number + "_y");
    std::filesystem::create_directories(place);
    write_file(place / "exercise.json",
               R"({"id": "02.)" + number +
                   R"(", "title": "T", "difficulty": "easy", "minutes": 1, "points": 10, "files": ["y.cpp"]})");
  }
  const std::vector<Exercise> catalogue = read_catalogue(folder.path());
  REQUIRE(catalogue.size() == 3);
  CHECK(catalogue[0].id == "02.9");
  CHECK(catalogue[1].id == "02.10");
  CHECK_FALSE(catalogue[1].is_lecturers());
  CHECK(catalogue[2].id == "02.50");
  CHECK(catalogue[2].is_lecturers());
}

TEST_CASE("checks weigh what exercise.json says, and nonsense there is an error that names it", "[exercise]") {
  const test::TemporaryFolder folder;
  const auto catalogue_with = [&](const std::string& weights, const std::string& points = "10") {
    const std::filesystem::path place = folder.path() / "exercises" / "02_x" / "1_y";
    std::filesystem::create_directories(place);
    write_file(place / "exercise.json",
               R"({"id": "02.1", "title": "T", "difficulty": "easy", "minutes": 1, "files": ["y.cpp"], "points": )" +
                   points + weights + "}");
    return read_catalogue(folder.path());
  };
  CHECK(catalogue_with("").at(0).weights.empty());
  CHECK(catalogue_with(R"(, "weights": {"a": 2.5, "b": 0})").at(0).weights ==
        std::map<std::string, double>{{"a", 2.5}, {"b", 0}});
  for (const char* weights : {R"({"a": -1})", R"({"a": 1e9})", R"({"a": "2"})", R"(["a"])", "3"}) {
    INFO(weights);
    CHECK_THROWS_WITH(catalogue_with(concat(", \"weights\": ", weights)), ContainsSubstring("exercise.json"));
  }
  CHECK_THROWS_WITH(catalogue_with(R"(, "weigths": {"a": 2})"),
                    ContainsSubstring("exercise.json: it has an entry \"weigths\"") && ContainsSubstring("weights"));
  CHECK(catalogue_with("", "2.5").at(0).points == 2.5);
  for (const char* points : {"-1", "1e9", "\"10\"", "null"})
    CHECK_THROWS_WITH(catalogue_with("", points), ContainsSubstring("exercise.json"));
}

}  // namespace lockstep::exercise
