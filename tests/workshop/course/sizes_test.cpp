#include "sizes.hpp"

#include <string>

#include "cpp_classes.hpp"
#include "cpp_functions.hpp"
#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;
using lockstep::course::split_lines;

namespace {

std::string lines(std::size_t count, const std::string& line = "// a line\n") {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += line;
  return text;
}

std::string function(const std::string& name, std::size_t line_count) {
  return "void " + name + "() {\n" + lines(line_count - 2, "  step();\n") + "}\n";
}

Problems size_problems(const std::string& path, const std::string& content) {
  return measure_sizes(TemporaryTree(Files{{path, content}}).root()).problems;
}

}  // namespace

TEST_CASE("Functions are found with their lengths, whatever surrounds them", "[course]") {
  const auto functions = find_functions({"x.cpp", split_lines(R"x(#define OPEN {
namespace a { struct B : C<int> {
  // a comment {
  B(int x) noexcept : a_{x}, b_(x), c_{[] { return 1; }} {
    work("}{", '{', 1'000, R"(}})");
  }
  int get() const override { return a_; }
  void call(Options options = {});
  int a_ = {3};
  static constexpr std::array<int, 2> kPair = {1, 2};
};
enum class E : std::uint8_t { kA };
template <typename T>
auto twice(const T& value)
    -> std::vector<T> {
  for (;;) {
    if (value) { break; }
  }
}
}
TEST_CASE("brace {") {
}
)x")});
  REQUIRE(functions.size() == 4);
  CHECK(functions[0].name == "B");
  CHECK(functions[0].line_count() == 3);
  CHECK(functions[1].name == "get");
  CHECK(functions[1].line_count() == 1);
  CHECK(functions[2].name == "twice");
  CHECK(functions[2].first_line == 13);
  CHECK(functions[2].line_count() == 7);
  CHECK(functions[3].name == "TEST_CASE");
}

TEST_CASE("Classes are found with their methods and members", "[course]") {
  const ClassesOfFile found = find_classes({"x.cpp", split_lines(R"x(namespace a::b {
template <typename T, typename U = std::vector<T>>
class [[nodiscard]] Outer final : public Base<T> {
 public:
  explicit Outer(int x) : x_{x}, y_(x) { work(); }
  ~Outer() override = default;
  Outer& operator=(const Outer&) = delete;
  void go(int one);  // a comment: void no();
  void go(std::string two) { if (two.empty()) { return; } }
  [[nodiscard]] const std::map<int, std::string>& names() const noexcept { return names_; }
  bool operator==(const Outer&) const = default;
  bool operator<(const Outer& other) const { return x_ < other.x_; }
  void operator()();
  [[nodiscard]] int given() const noexcept override { return 1; }
  template <typename Part> auto loop(Part&& part) -> decltype(part.begin());
  struct Inner { int only = 3; };
  enum class Kind { kA, kB };
  using Names = std::map<int, int>;
  friend class Other;

 private:
  static constexpr std::array<int, 2> kPair = {1, 2};
  int x_ = 0, y_{1};
  std::map<int, std::string> names_;
  std::function<void(int, int)> call_ = [](int a, int b) { use(a, b); };
  std::atomic<bool> is_done_{false};
};
void Outer::go(int one) { Local::call(one); }
Thing Outer::Inner::make() { return {}; }
void inner::free_function() {}
}
)x")});
  REQUIRE(found.classes.size() == 2);
  CHECK(found.classes[0].name == "a::b::Outer::Inner");
  CHECK(found.classes[0].is_struct);
  CHECK(found.classes[0].member_count == 1);
  const ClassShape& outer = found.classes[1];
  CHECK(outer.name == "a::b::Outer");
  CHECK(outer.line == 3);
  CHECK(outer.methods == std::set<std::string>{"go", "names", "operator<", "operator()", "loop"});
  CHECK(outer.member_count == 5);
  CHECK(found.defined_elsewhere == std::set<std::string>{"a::b::Outer", "a::b::Outer::Inner"});
}

TEST_CASE("A class with more than 20 methods or 15 members is rejected", "[course]") {
  const auto with = [](const std::string& head, int methods, int members) {
    std::string text = head + " {\n public:\n";
    for (int i = 0; i < methods; ++i) text += "  void do_" + std::to_string(i) + "();\n  void do_0(int more);\n";
    for (int i = 0; i < members; ++i) text += "  int member_" + std::to_string(i) + "_ = 0;\n";
    return size_problems("common/a/a.hpp", text + "};\n");
  };
  CHECK(with("class A", 20, 15).empty());
  CHECK(with("class A", 21, 15) == Problems{"common/a/a.hpp:1 A has 21 methods; a class has at most 20"});
  CHECK(with("class A", 20, 16) == Problems{"common/a/a.hpp:1 A has 16 members; a class has at most 15"});
  CHECK(with("struct Record", 20, 30).empty());
  CHECK(with("class Variable", 30, 1).empty());
}

TEST_CASE("A class whose methods are in two sources is rejected", "[course]") {
  const std::string begin = "namespace a { void A::", end = "() {} }\n";
  CHECK(measure_sizes(TemporaryTree(Files{{"common/a/a.cpp", begin + "one" + end},
                                          {"common/a/b.cpp", "namespace b { void A::one() {} }\n"}})
                          .root())
            .problems.empty());
  CHECK(
      measure_sizes(
          TemporaryTree(Files{{"common/a/a.cpp", begin + "one" + end}, {"common/a/b.cpp", begin + "two" + end}}).root())
          .problems ==
      Problems{"the methods of a::A are in 2 sources, common/a/a.cpp and common/a/b.cpp; a class has one"});
}

TEST_CASE("A function over 80 lines is rejected", "[course]") {
  CHECK(size_problems("common/a/a.cpp", function("long_one", 80)).empty());
  CHECK(size_problems("common/a/a.cpp", "\n" + function("long_one", 81)) ==
        Problems{"common/a/a.cpp:2 long_one has 81 lines; at most 80 are allowed"});
}

TEST_CASE("Files over their hard limit are rejected", "[course]") {
  CHECK(size_problems("common/a/a.hpp", lines(300)).empty());
  CHECK(size_problems("common/a/a.hpp", lines(301)) ==
        Problems{"common/a/a.hpp has 301 lines; a header has at most 300"});
  CHECK(size_problems("tests/a/a_test.cpp", lines(501)).size() == 1);
  CHECK(size_problems("chapters/01_x/x.cpp", lines(251)).size() == 1);
  CHECK(size_problems("chapters/01_x/programs/naive_server.cpp", lines(81)).size() == 1);
  CHECK(size_problems("chapters/02_ring_all_reduce/ring_process_group.cpp", lines(151)).size() == 1);
}

TEST_CASE("The baseline and its main have limits of their own", "[course]") {
  const std::string path = "chapters/05_gpt_single_device/programs/train_gpt_single.cpp";
  CHECK(size_problems(path, function("main", 60)).empty());
  CHECK(size_problems(path, function("main", 61)).size() == 1);
  CHECK(size_problems(path, lines(151)).size() == 1);
}

TEST_CASE("A chapter's folder with more than twelve entries is rejected", "[course]") {
  std::map<std::string, std::string> files = {{"chapters/01_x/programs/a.cpp", ""},
                                              {"chapters/01_x/programs/b.cpp", ""}};
  for (int i = 0; i < 11; ++i) files["chapters/01_x/file_" + std::to_string(i) + ".md"] = "";
  CHECK(measure_sizes(TemporaryTree(files).root()).problems.empty());
  files["chapters/01_x/one_more.md"] = "";
  CHECK(measure_sizes(TemporaryTree(files).root()).problems ==
        Problems{"chapters/01_x has 13 entries; a chapter's folder has at most 12"});
}

TEST_CASE("What is over the budget but within the limit is only reported", "[course]") {
  const SizeReport report = measure_sizes(TemporaryTree(Files{{"common/a/a.cpp", function("longish", 41)}}).root());
  CHECK(report.problems.empty());
  CHECK_THAT(report.budget_text, ContainsSubstring("common/a/a.cpp:1 longish: 41 lines (40)"));
}

TEST_CASE("The project keeps its size limits", "[course][repository]") {
  const SizeReport report = measure_sizes(LOCKSTEP_SOURCE_DIR);
  WARN(report.budget_text);
  for (const std::string& problem : report.problems) FAIL_CHECK(problem);
}
