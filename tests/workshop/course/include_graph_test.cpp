#include "include_graph.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "module_picture.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;

namespace {

/// A target and all that it depends on.
std::set<std::string> targets_behind(const TargetGraph& graph, const std::string& name) {
  std::set<std::string> all = {name};
  for (std::vector<std::string> open = {name}; !open.empty();) {
    const auto found = graph.targets.find(open.back());
    open.pop_back();
    if (found == graph.targets.end()) continue;
    for (const std::string& next : found->second.depends())
      if (all.insert(next).second) open.push_back(next);
  }
  return all;
}

const std::string kTable = "| who | wings | share |\n| all | `base`, `ranks` | 100 % |\n";

/// base <- net <- chapter 01 <- chapter 02, and one test; without faults.
Files sound() {
  return {
      {"common/base/error.hpp", "#include <string>\n"},
      {"common/base/error.cpp", "#include \"base/error.hpp\"\n"},
      {"common/ranks/net/a.hpp", "#include \"base/error.hpp\"\n"},
      {"common/ranks/net/a.cpp", "#include <openssl/hmac.h>\n#include \"net/a.hpp\"\n#include \"net/hidden.hpp\"\n"},
      {"common/ranks/net/hidden.hpp", "#include \"net/list.inc\"\n"},
      {"common/ranks/net/list.inc", "#include \"base/error.hpp\"\n"},
      {"chapters/01_one/one.hpp", "#include \"net/a.hpp\"\n"},
      {"chapters/01_one/programs/go.cpp", "#include <CLI/CLI.hpp>\n#include \"01_one/one.hpp\"\n"},
      {"chapters/02_two/two.hpp", "#include \"01_one/one.hpp\"\n#include \"base/error.hpp\"\n"},
      {"tests/support/main.cpp", "#include \"support/catch.hpp\"\n"},
      {"tests/support/catch.hpp", "#include <catch2/catch.hpp>\n"},
      {"tests/ranks/net/a_test.cpp", "#include \"support/catch.hpp\"\n#include \"net/a.hpp\"\n#include \"near.hpp\"\n"},
      {"tests/ranks/net/near.hpp", "#include \"base/error.hpp\"\n"},
      {"common/ranks/README.md", "```\nbase -> net   (a remark)\n```\n"},
      {"common/README.md", kTable},
  };
}

TargetGraph graph_of(const std::vector<Target>& targets) {
  TargetGraph graph;
  for (const Target& target : targets) graph.targets[target.name] = target;
  return graph;
}

TargetGraph sound_graph() {
  const std::string base = "lockstep::base", net = "lockstep::net", one = "lockstep::one", two = "lockstep::two",
                    support = "lockstep::test_support";
  return graph_of({{base, "common/base", {"common/base/error.hpp"}, {"common/base/error.cpp"}, {}, {}},
                   {net,
                    "common/ranks/net",
                    {"common/ranks/net/a.hpp"},
                    {"common/ranks/net/a.cpp", "common/ranks/net/hidden.hpp"},
                    {base},
                    {"OpenSSL::Crypto"}},
                   {one, "chapters/01_one", {"chapters/01_one/one.hpp"}, {}, {net}, {}},
                   {"go", "chapters/01_one", {}, {"chapters/01_one/programs/go.cpp"}, {}, {one, "CLI11::CLI11"}},
                   {two, "chapters/02_two", {"chapters/02_two/two.hpp"}, {}, {one}, {}},
                   {support, "tests/support", {}, {"tests/support/main.cpp"}, {"Catch2::Catch2"}, {}},
                   {"net_test", "tests/ranks/net", {}, {"tests/ranks/net/a_test.cpp"}, {}, {net, support}}});
}

Problems with(const Files& changes, const TargetGraph& graph = sound_graph()) {
  Files files = sound();
  for (const auto& [path, content] : changes) files[path] = content;
  return check_include_graph(TemporaryTree(files).root(), graph);
}

Problems picture_with(const std::string& picture, const TargetGraph& graph = sound_graph(),
                      const std::string& table = kTable) {
  Files files = sound();
  files["common/ranks/README.md"] = "```\n" + picture + "\n```\n";
  files["common/README.md"] = table;
  return check_module_picture(TemporaryTree(files).root(), graph);
}

}  // namespace

TEST_CASE("A sound project has no problem", "[course]") { CHECK(with({}).empty()); }

TEST_CASE("An include that DEPENDS does not cover is rejected", "[course]") {
  CHECK(
      with({{"common/base/error.cpp", "\n#include \"net/a.hpp\"\n"}}) ==
      Problems{
          "common/base/error.cpp:2 includes \"net/a.hpp\", but lockstep::base does not list lockstep::net in DEPENDS"});
  CHECK(with({{"common/ranks/net/a.hpp", "#include <nlohmann/json.hpp>\n"}}) ==
        Problems{"common/ranks/net/a.hpp:1 includes <nlohmann/json.hpp>, but its target does not list "
                 "nlohmann_json::nlohmann_json"});
}

TEST_CASE("A private dependency does not reach those who depend", "[course]") {
  CHECK(with({{"chapters/01_one/one.hpp", "#include <openssl/hmac.h>\n"}}).size() == 1);
  CHECK(with({{"chapters/02_two/two.hpp", "#include <CLI/CLI.hpp>\n"}}).size() == 1);
}

TEST_CASE("A private header of another target is rejected, an unknown file too", "[course]") {
  CHECK(with({{"chapters/01_one/one.hpp", "#include \"net/hidden.hpp\"\n"}}) ==
        Problems{"chapters/01_one/one.hpp:1 includes \"net/hidden.hpp\", a private header of another target"});
  CHECK(with({{"chapters/01_one/one.hpp", "#include \"net/none.hpp\"\n"}}) ==
        Problems{"chapters/01_one/one.hpp:1 includes \"net/none.hpp\", which is not a file of the project"});
}

TEST_CASE("A chapter that uses a later one is rejected", "[course]") {
  TargetGraph graph = sound_graph();
  graph.targets["lockstep::zero"] = {"lockstep::zero", "chapters/03_zero", {}, {}, {}, {}};
  graph.targets["lockstep::one"].private_depends = {"lockstep::zero"};
  CHECK(with({}, graph) ==
        Problems{"chapters/01_one/CMakeLists.txt: lockstep::one depends on lockstep::zero of a later chapter"});
}

TEST_CASE("Common never uses chapters", "[course]") {
  TargetGraph graph = sound_graph();
  graph.targets["lockstep::top"] = {"lockstep::top", "common/top", {"common/top/top.hpp"}, {}, {"lockstep::one"}, {}};
  CHECK(with({{"common/top/top.hpp", "#include \"01_one/one.hpp\"\n"}}, graph) ==
        Problems{"common/top/CMakeLists.txt: lockstep::top depends on lockstep::one: common never uses chapters"});
}

TEST_CASE("A cycle is reported once, by its path, also one through what stands for a backend", "[course]") {
  TargetGraph graph = sound_graph();
  graph.targets["lockstep::base"].private_depends = {"lockstep::net"};
  CHECK(with({}, graph) == Problems{"cycle: lockstep::base -> lockstep::net -> lockstep::base"});
  graph.targets["lockstep::cuda_runtime"] = {"lockstep::cuda_runtime", "", {}, {}, {"lockstep::net"}, {}};
  graph.targets["lockstep::base"].private_depends = {"lockstep::cuda_runtime"};
  CHECK(with({}, graph) ==
        Problems{"cycle: lockstep::base -> lockstep::cuda_runtime -> lockstep::net -> lockstep::base"});
}

TEST_CASE("Who uses CUDA does not see what stands behind it", "[course]") {
  TargetGraph graph = sound_graph();
  graph.targets["lockstep::cuda_runtime"] = {"lockstep::cuda_runtime", "", {}, {}, {"lockstep::net"}, {}};
  graph.targets["lockstep::two"].public_depends = {"lockstep::cuda_runtime"};
  CHECK(with({{"chapters/02_two/two.hpp", "#include \"net/a.hpp\"\n"}}, graph) ==
        Problems{"chapters/02_two/two.hpp:1 includes \"net/a.hpp\", but lockstep::two does not list lockstep::net in "
                 "DEPENDS"});
}

TEST_CASE("A file of no target is reported, unless it is left out", "[course]") {
  const Files forgotten = {{"common/ranks/net/old/forgotten.cpp", ""}};
  CHECK(with(forgotten) ==
        Problems{"common/ranks/net/old/forgotten.cpp belongs to no target, and no lockstep_leave_out() says why"});
  TargetGraph graph = sound_graph();
  graph.left_out["common/ranks/net/ol"] = "another folder";
  CHECK(with(forgotten, graph).size() == 1);
  graph.left_out["common/ranks/net/old"] = "of yesterday";
  CHECK(with(forgotten, graph).empty());
}

TEST_CASE("What a build leaves out may be included where it is there", "[course]") {
  const Files optional = {{"common/gloo/group.hpp", ""},
                          {"chapters/01_one/one.hpp", "#ifdef HAVE_GLOO\n#include \"gloo/group.hpp\"\n#endif\n"}};
  TargetGraph graph = sound_graph();
  CHECK_FALSE(with(optional, graph).empty());
  graph.left_out["common/gloo"] = "Gloo is not installed";
  CHECK(with(optional, graph).empty());
}

TEST_CASE("Modules that must not depend on each other are kept apart", "[course]") {
  TargetGraph graph = sound_graph();
  graph.targets["lockstep::tensor"] = {"lockstep::tensor", "common/train/tensor", {}, {}, {}, {}};
  graph.targets["lockstep::comm"] = {"lockstep::comm", "common/ranks/comm", {}, {}, {"lockstep::tensor"}, {}};
  CHECK(with({}, graph) ==
        Problems{"common/ranks/comm/CMakeLists.txt: lockstep::comm must not depend on lockstep::tensor"});
}

// The library opens closed standard streams before a program can open another file in their place.
TEST_CASE("Every program of ours is linked with lockstep::base", "[course][repository]") {
  const TargetGraph graph = read_target_graph(LOCKSTEP_TARGET_GRAPH);
  std::size_t programs = 0;
  for (const auto& [name, target] : graph.targets) {
    if (target.kind != "executable" || target.folder.starts_with("tests/")) continue;
    ++programs;
    INFO(name);
    CHECK(targets_behind(graph, name).contains("lockstep::base"));
  }
  CHECK(programs > 20);
}

TEST_CASE("The first exercise waits for no library that it does not use", "[course][repository]") {
  const TargetGraph graph = read_target_graph(LOCKSTEP_TARGET_GRAPH);
  const std::set<std::string> behind_judge = targets_behind(graph, "judge_00");
  CHECK(behind_judge.contains("lockstep::cost_model"));
  CHECK_FALSE(behind_judge.contains("lockstep::why_many_gpus"));
  const std::set<std::string> behind_tool = targets_behind(graph, "lockstep_exercises");
  CHECK(behind_tool.contains("lockstep::cpp_tokens"));
  CHECK_FALSE(behind_tool.contains("lockstep::translate"));
}

TEST_CASE("The picture of a wing shows what its modules use, and no more", "[course]") {
  CHECK(picture_with("base -> net").empty());
  CHECK(picture_with("base  net") == Problems{"common/ranks/README.md does not show that net uses base"});
  CHECK(picture_with("net -> nett") == Problems{"common/ranks/README.md shows nett, which is no module",
                                                "common/ranks/README.md does not show that net uses base"});
  CHECK(picture_with("base") == Problems{"common/ranks/README.md does not show net"});
  CHECK(picture_with("net -> base -> net") ==
        Problems{"common/ranks/README.md shows what base uses, which is not in this wing",
                 "common/ranks/README.md shows that base uses net, but it does not"});
}

TEST_CASE("An arrow that follows from others need not be drawn, and a program is its folder", "[course]") {
  TargetGraph graph = sound_graph();
  graph.targets["lockstep"] = {"lockstep", "common/ranks/tool", {}, {}, {}, {"lockstep::net", "lockstep::base"}};
  graph.left_out["common/ranks/gloo"] = "not installed";
  CHECK(picture_with("base -> net -> tool, gloo", graph).empty());
}

TEST_CASE("Pictures of several wings make one", "[course]") {
  TargetGraph graph = sound_graph();
  graph.targets["lockstep"] = {"lockstep", "common/workshop/tool", {}, {}, {}, {"lockstep::net"}};
  Files files = sound();
  files["common/workshop/README.md"] = "```\nnet -> tool\n```\n";
  CHECK(check_module_picture(TemporaryTree(files).root(), graph).empty());
  files["common/workshop/README.md"] = "```\ntool\n```\n";
  CHECK(check_module_picture(TemporaryTree(files).root(), graph) ==
        Problems{"common/workshop/README.md does not show that tool uses net"});
}

TEST_CASE("The table of the wings has each once, and the right shares", "[course]") {
  const auto table_with = [](const std::string& table) { return picture_with("base -> net", sound_graph(), table); };
  CHECK(table_with("| one | `base` | 29 % |\n| two | `ranks` | 71 % |\n").empty());
  CHECK(table_with("| one | `base`, `ranks` | 90 % |\n") ==
        Problems{"common/README.md:1 says 90 %, but its modules are 100 %"});
  CHECK(table_with("| one | `base`, `cuda`, `base` | 29 % |\n") ==
        Problems{"common/README.md:1 names base once more", "common/README.md does not say who needs common/ranks",
                 "common/README.md:1 names cuda, which is no module"});
}

TEST_CASE("A file that does not describe targets is refused", "[course]") {
  const TemporaryTree tree(Files{{"targets.json", "{\"targets\": [{\"name\": 3}]}"}});
  CHECK_THROWS_AS(read_target_graph(tree.root() / "targets.json"), lockstep::FormatError);
}

TEST_CASE("The project's own dependencies are sound", "[course][repository]") {
  const TargetGraph graph = read_target_graph(LOCKSTEP_TARGET_GRAPH);
  for (const std::string& problem : check_include_graph(LOCKSTEP_SOURCE_DIR, graph)) FAIL_CHECK(problem);
}

TEST_CASE("The picture of the modules shows their dependencies", "[course][repository]") {
  const TargetGraph graph = read_target_graph(LOCKSTEP_TARGET_GRAPH);
  if (graph.is_left_out("common/ranks/emulated_nccl"))
    lockstep::test::skip("the picture is that of a build without CUDA");
  for (const std::string& problem : check_module_picture(LOCKSTEP_SOURCE_DIR, graph)) FAIL_CHECK(problem);
}
