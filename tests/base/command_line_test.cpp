#include "base/command_line.hpp"

#include <filesystem>
#include <functional>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>

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

Outcome parse(const std::vector<std::string>& arguments) {
  lockstep::CommandLine line("A program", "server");
  int port = 0, world_size = 1;
  line.add_option("--port", port, "Where to listen");
  line.add_option("--world-size", world_size, "Ranks");
  const Captured errors(std::cerr);
  const Captured output(std::cout);
  const auto exit_code = line.parse(arguments);
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

TEST_CASE("an argument that the program does not take is named", "[base]") {
  const Outcome outcome = parse({"train"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.errors, ContainsSubstring("server: unexpected argument train"));
}

TEST_CASE("a wrong value names the option", "[base]") {
  const Outcome outcome = parse({"--port", "many"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.errors, ContainsSubstring("--port"));
}

TEST_CASE("help ends with 0", "[base]") { CHECK(parse({"--help"}).exit_code == 0); }

namespace {

struct Options {
  int world_size = 4;
  double seconds = 0.5;
  std::vector<int> counts{1, 2};
  std::string link = "nvlink";
  std::vector<std::filesystem::path> runs;
  std::string resume = "nothing";
  bool use_colour = false;
  bool is_link_given = false;
};

// The result for a program with these options; the exit code if that ends it.
Outcome read(Options& options, std::vector<const char*> arguments) {
  lockstep::CommandLine line("A program", "race");
  line.add_option("--world-size", options.world_size, "Ranks").check(lockstep::whole_number(1, 8));
  line.add_option("--seconds", options.seconds, "Limit").check(lockstep::positive_seconds());
  line.add_option("--counts", options.counts, "Values").check(lockstep::whole_number(0));
  line.add_option("--link", options.link, "Which").check(lockstep::one_of({"nvlink", "pcie"}));
  line.add_option("--runs", options.runs, "Folders").type_name("FOLDER").at_most(2).without_default();
  line.add_option("--resume", options.resume, "Folder").allow_no_value().without_default();
  line.add_flag("--color,!--no-color", options.use_colour, "Colours");
  arguments.insert(arguments.begin(), "/somewhere/race");
  const Captured errors(std::cerr);
  const Captured output(std::cout);
  const auto exit_code = line.parse(static_cast<int>(arguments.size()), arguments.data());
  options.is_link_given = line.is_given("--link");
  return {exit_code, errors.text() + output.text()};
}

}  // namespace

TEST_CASE("options reach the program's variables, and those left out keep theirs", "[base]") {
  Options options;
  CHECK(read(options, {"--world-size", "8", "--counts", "3,4,5", "--color", "--link=pcie"}).exit_code == std::nullopt);
  CHECK(options.world_size == 8);
  CHECK(options.seconds == 0.5);
  CHECK(options.counts == std::vector<int>{3, 4, 5});
  CHECK(options.use_colour);
  CHECK(options.is_link_given);
  CHECK(read(options, {"--counts", "6", "7", "--no-color"}).exit_code == std::nullopt);
  CHECK(options.counts == std::vector<int>{6, 7});
  CHECK_FALSE(options.use_colour);
  CHECK_FALSE(options.is_link_given);
}

TEST_CASE("of an option given twice the last one counts, lists of paths grow, and paths may have commas", "[base]") {
  Options options;
  CHECK(read(options, {"--seconds", "1", "--seconds", "2", "--runs", "a,b", "--runs", "c"}).exit_code == std::nullopt);
  CHECK(options.seconds == 2);
  CHECK(options.runs == std::vector<std::filesystem::path>{"a,b", "c"});
  CHECK(read(options, {"--runs", "a", "b", "--runs", "c"}).exit_code == 2);
}

TEST_CASE("an option that needs no value empties its variable without one", "[base]") {
  Options options;
  CHECK(read(options, {"--world-size", "2"}).exit_code == std::nullopt);
  CHECK(options.resume == "nothing");
  CHECK(read(options, {"--resume", "there"}).exit_code == std::nullopt);
  CHECK(options.resume == "there");
  CHECK(read(options, {"--resume", "--world-size", "2"}).exit_code == std::nullopt);
  CHECK(options.resume.empty());
}

TEST_CASE("a value that fails its check is refused with what would be right", "[base]") {
  Options options;
  const auto refused = [&](std::vector<const char*> arguments, const std::string& answer) {
    const Outcome outcome = read(options, std::move(arguments));
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring(answer));
  };
  refused({"--world-size", "9"}, "--world-size: '9' is not a whole number from 1 to 8");
  refused({"--world-size", "2.5"}, "'2.5' is not a whole number from 1 to 8");
  refused({"--counts", "3,-1"}, "--counts: '-1' is not a whole number of at least 0");
  refused({"--seconds", "0"}, "--seconds: '0' is not a number of seconds greater than 0 and at most 1000000000");
  refused({"--seconds", "nan"}, "--seconds: 'nan' is not a number of seconds greater than 0");
  refused({"--link", "nvlnk"}, "there is no 'nvlnk'; did you mean nvlink? (nvlink, pcie)");
}

TEST_CASE("help shows the defaults", "[base]") {
  Options options;
  const Outcome outcome = read(options, {"--help"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.errors, ContainsSubstring("--world-size N=4") || ContainsSubstring("--world-size N [4]"));
  CHECK_THAT(outcome.errors, ContainsSubstring("--counts N=[1,2]") || ContainsSubstring("--counts N [[1,2]]"));
  CHECK_THAT(outcome.errors, ContainsSubstring("--runs FOLDER"));
  CHECK_THAT(outcome.errors, ContainsSubstring("--color,--no-color "));
  CHECK_THAT(outcome.errors, !ContainsSubstring("nothing"));
}

TEST_CASE("an exception becomes one line and status 1, and otherwise the body's result is the program's", "[base]") {
  lockstep::CommandLine app("A program");
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

TEST_CASE("the standard library's bare exceptions are explained", "[base]") {
  const auto told = [](const std::function<int()>& body) {
    const Captured errors(std::cerr);
    CHECK(lockstep::run_guarded("p", body) == 1);
    return errors.text();
  };
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  CHECK_THAT(told([&]() -> int { throw std::system_error(again); }),
             ContainsSubstring("p: no thread can be started") && ContainsSubstring("ulimit -u"));
  CHECK(told([]() -> int { throw std::bad_alloc(); }) == "p: out of memory\n");
  CHECK(told([&]() -> int { throw std::filesystem::filesystem_error("reading", "/a/file", again); }).find("thread") ==
        std::string::npos);
}

TEST_CASE("output that could not be written is said, and the work counts all the same", "[base]") {
  const Captured errors(std::cerr), output(std::cout);
  CHECK(lockstep::run_guarded("p", [] { return 0; }) == 0);
  CHECK(errors.text().empty());
  CHECK(lockstep::run_guarded("p", [] {
          std::cout.setstate(std::ios::badbit);  // as after writing to a full disk
          return 0;
        }) == 0);
  std::cout.clear();
  CHECK_THAT(errors.text(), ContainsSubstring("p: some output is lost: standard output could not be written"));
}
