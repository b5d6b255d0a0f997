#include "base/command_line.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace {

/// Collects what is written to a stream while it lives.
class Captured {
 public:
  explicit Captured(std::ostream& stream) : stream_(stream), previous_(stream.rdbuf(text_.rdbuf())) {}
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() { stream_.rdbuf(previous_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* previous_;
};

struct Outcome {
  std::optional<int> exit_code;
  std::string errors;
};

Outcome parse(std::vector<const char*> arguments) {
  CLI::App app("A program");
  int port = 0;
  app.add_option("--port", port, "Where to listen");
  app.add_option("--world-size", "Ranks");
  CLI::App* train = app.add_subcommand("train", "Trains");
  train->add_option("--steps", "How many");
  arguments.insert(arguments.begin(), "/somewhere/server");
  const Captured errors(std::cerr);
  const Captured output(std::cout);
  const auto exit_code = lockstep::parse_command_line(app, static_cast<int>(arguments.size()), arguments.data());
  return {exit_code, errors.text()};
}

}  // namespace

TEST_CASE("a right command line is parsed and the program goes on", "[base]") {
  CHECK(parse({"--port", "3"}).exit_code == std::nullopt);
}

TEST_CASE("a wrong option is answered with what was meant", "[base]") {
  const Outcome outcome = parse({"--prot", "3"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.errors, ContainsSubstring("server: unknown option --prot; did you mean --port?"));
}

TEST_CASE("a wrong option of a subcommand is compared with that subcommand's options", "[base]") {
  const Outcome outcome = parse({"train", "--step=3"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.errors, ContainsSubstring("server train: unknown option --step; did you mean --steps?"));
}

TEST_CASE("a wrong command is answered with what was meant", "[base]") {
  CHECK_THAT(parse({"trian"}).errors, ContainsSubstring("unknown command trian; did you mean train?"));
}

TEST_CASE("a wrong value names the option", "[base]") {
  const Outcome outcome = parse({"--port", "many"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.errors, ContainsSubstring("--port"));
}

TEST_CASE("help ends with 0", "[base]") { CHECK(parse({"--help"}).exit_code == 0); }

TEST_CASE("an exception becomes one line and status 1; otherwise the body's result is the program's", "[base]") {
  CLI::App app("A program");
  const char* const argv[] = {"/somewhere/server", "--help"};
  const Captured errors(std::cerr);
  const Captured output(std::cout);
  CHECK(lockstep::run_main(app, 1, argv, [] { return 77; }) == 77);
  CHECK(lockstep::run_main(app, 1, argv, []() -> int { throw std::runtime_error("rank 1 closed"); }) == 1);
  CHECK(errors.text() == "server: rank 1 closed\n");
  CHECK(lockstep::run_main(app, 2, argv, [] { return 77; }) == 0);
}

TEST_CASE("usage errors and missing devices have exit codes of their own", "[base]") {
  const Captured errors(std::cerr);
  CHECK(lockstep::run_guarded("p", []() -> int { throw lockstep::UsageError("no run to resume"); }) == 2);
  CHECK(lockstep::run_guarded("p", []() -> int { throw lockstep::UnavailableError("no GPU here"); }) == 77);
  CHECK(errors.text() == "p: no run to resume\np: no GPU here\n");
}
