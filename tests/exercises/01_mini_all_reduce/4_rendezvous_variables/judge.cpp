#include <map>
#include <string>

#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_01_4 {

// By name; an empty text is a variable that is not set.
using Variables = std::map<std::string, std::string>;

const Variables kRight = {{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};

Variables with(const std::string& name, const std::string& value) {
  Variables variables = kRight;
  variables[name] = value;
  return variables;
}

std::string shown_as(const Variables& variables) {
  std::string text;
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    const std::string& value = variables.at(name);
    text += concat(text.empty() ? "" : " ", name, value.empty() ? " unset" : concat("=", value));
  }
  return text;
}

const Outcome& ask(Check& check, const Variables& variables, bool wants_message = false) {
  return check.run({.question = [&](int) {
    nlohmann::json question = variables;
    question["wants_message"] = wants_message;
    return question;
  }});
}

std::string ending_of(Check& check, const Outcome& outcome) {
  const auto ending = check.get<std::string>(outcome, 0, "ending");
  if (ending != "a membership") {
    const std::string& message = outcome.ranks.front().output;
    return concat(ending, ": ", message.substr(0, message.find_last_not_of('\n') + 1));
  }
  return concat("rank ", check.get<int>(outcome, 0, "rank"), " of ", check.get<int>(outcome, 0, "world_size"));
}

void check_membership(Check& check, const Variables& variables) {
  const Outcome& outcome = ask(check, variables);
  const std::string given = shown_as(variables);
  if (check.get<std::string>(outcome, 0, "ending") != "a membership")
    check.wrong(concat("with ", given, " nothing is wrong; got ", ending_of(check, outcome)));
  const auto expect_number = [&](const char* name, int expected) {
    const int got = check.get<int>(outcome, 0, name);
    if (got != expected) check.wrong(concat("with ", given, " ", name, " should be ", expected, ", got ", got));
  };
  const bool is_alone = variables.at("WORLD_SIZE") == "1";
  expect_number("rank", std::stoi(variables.at("RANK")));
  expect_number("world_size", std::stoi(variables.at("WORLD_SIZE")));
  expect_number("master_port", is_alone ? 0 : std::stoi(variables.at("MASTER_PORT")));
  const std::string expected = is_alone ? "" : variables.at("MASTER_ADDR");
  const auto address = check.get<std::string>(outcome, 0, "master_addr");
  if (address != expected)
    check.wrong(concat("with ", given, " master_addr should be \"", expected, "\", got \"", address, "\""));
}

const Outcome& check_refused(Check& check, const Variables& variables, bool wants_message = false) {
  const Outcome& outcome = ask(check, variables, wants_message);
  if (check.get<std::string>(outcome, 0, "ending") != "FormatError")
    check.wrong(
        concat("with ", shown_as(variables), " a FormatError should be thrown; got ", ending_of(check, outcome)));
  return outcome;
}

constexpr const char* kEitherIsWrong =
    "if RANK does not fit WORLD_SIZE, either of them may be wrong: put both names and both values into the message";

void check_message(Check& check, const Variables& variables, const std::vector<std::string>& words,
                   const std::string& next = "put NAME=value into every message: who reads it sees one line") {
  const auto message = check.get<std::string>(check_refused(check, variables, true), 0, "message");
  for (const std::string& word : words)
    if (message.find(word) == std::string::npos)
      check.wrong(
          concat("with ", shown_as(variables), " the message should contain \"", word, "\"; it is \"", message, "\""),
          next);
}

// One variable of kRight replaced, and the name of the check that it belongs to.
struct Refused {
  const char* check;
  std::vector<std::pair<const char*, const char*>> cases;
};

const std::vector<Refused> kRefused = {
    {"a variable is missing", {{"RANK", ""}, {"WORLD_SIZE", ""}, {"MASTER_ADDR", ""}, {"MASTER_PORT", ""}}},
    {"not a number", {{"RANK", "two"}, {"WORLD_SIZE", "many"}, {"MASTER_PORT", "http"}, {"RANK", "-"}}},
    {"more than a number",
     {{"RANK", "1x"},
      {"RANK", "2 "},
      {"RANK", " 2"},
      {"WORLD_SIZE", "4.5"},
      {"WORLD_SIZE", "4,"},
      {"MASTER_PORT", "29500/tcp"},
      {"MASTER_PORT", "0x10"}}},
    {"RANK and WORLD_SIZE do not fit together",
     {{"RANK", "4"}, {"RANK", "5"}, {"WORLD_SIZE", "2"}, {"WORLD_SIZE", "1"}}},
    {"less than the least", {{"RANK", "-1"}, {"WORLD_SIZE", "0"}, {"WORLD_SIZE", "-4"}, {"MASTER_PORT", "0"}}},
    {"more than the most",
     {{"MASTER_PORT", "65536"},
      {"WORLD_SIZE", "65537"},
      {"RANK", "4294967297"},
      {"WORLD_SIZE", "99999999999999999999999"}}},
};

void check_random_places(Check& check) {
  const std::vector<float> random = random_floats(check.seed(), 0, 24);
  for (std::size_t i = 0; i < random.size(); i += 3) {
    const int ranks = 2 + static_cast<int>(15'000 * (random[i] + 1));
    const int rank = static_cast<int>(0.5 * ranks * (random[i + 1] + 1));
    const int port = 1 + static_cast<int>(32'000 * (random[i + 2] + 1));
    Variables variables = {{"RANK", std::to_string(rank)},
                           {"WORLD_SIZE", std::to_string(ranks)},
                           {"MASTER_ADDR", concat("10.0.0.", i)},
                           {"MASTER_PORT", std::to_string(port)}};
    check_membership(check, variables);
    variables["RANK"] = std::to_string(ranks + rank);
    check_message(check, variables, {"RANK", variables["RANK"], "WORLD_SIZE", variables["WORLD_SIZE"]}, kEitherIsWrong);
  }
}

}  // namespace checks_01_4

void judge_01_4(Examination& exam) {
  using namespace checks_01_4;
  exam.check("rank 2 of 4", [](Check& check) { check_membership(check, kRight); });
  exam.check("the first and the last rank", [](Check& check) {
    check_membership(check, with("RANK", "0"));
    check_membership(check, with("RANK", "3"));
  });
  exam.check("a zero in front makes no number octal",
             [](Check& check) { check_membership(check, with("WORLD_SIZE", "010")); });
  exam.check("one rank needs no address", [](Check& check) {
    check_membership(check, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", ""}, {"MASTER_PORT", ""}});
    check_membership(check, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", ""}, {"MASTER_PORT", "none"}});
  });
  for (const Refused& refused : kRefused)
    exam.check(refused.check, [&](Check& check) {
      for (const auto& [name, value] : refused.cases) check_refused(check, with(name, value));
    });
  exam.check("rank 0 does not know of how many", [](Check& check) {
    Variables variables = with("RANK", "0");
    variables["WORLD_SIZE"] = "";
    check_refused(check, variables);
  });
  exam.check("the message has the variable's name and its value", [](Check& check) {
    check_message(check, with("RANK", ""), {"RANK"});
    check_message(check, with("MASTER_ADDR", ""), {"MASTER_ADDR"});
    check_message(check, with("WORLD_SIZE", "many"), {"WORLD_SIZE", "many"});
    check_message(check, with("MASTER_PORT", "70000"), {"MASTER_PORT", "70000"});
    check_message(check, with("RANK", "17"), {"RANK", "17", "WORLD_SIZE", "4"}, kEitherIsWrong);
  });
  exam.full_check("the bounds themselves", [](Check& check) {
    check_membership(check, with("MASTER_PORT", "1"));
    check_membership(check, with("MASTER_PORT", "65535"));
    check_membership(check, with("WORLD_SIZE", "65536"));
  });
  exam.full_check("places chosen at random", check_random_places);
}

}  // namespace lockstep::exercise
