// lockstep estimate on the command line; its arithmetic is in tests/08_accelerate/memory_estimate_test.cpp.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using test::Finished;

namespace {

Finished estimate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {test::built_program("lockstep"), "estimate"});
  return test::run_program(arguments, {{"LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR}});
}

}  // namespace

TEST_CASE("estimate prints a table, and bytes as JSON", "[tool][estimate]") {
  const Finished table = estimate({"gpt2"});
  INFO(table.err);
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.out, ContainsSubstring("gpt2: 124439808 parameters, AdamW, float32") &&
                            ContainsSubstring("ZeRO 3") && ContainsSubstring("Not counted"));
  const Finished json = estimate({"gpt2", "--num-processes", "8", "--mixed-precision", "bf16", "--json"});
  const nlohmann::json parsed = nlohmann::json::parse(json.out);
  CHECK(parsed.at("parameters") == 124439808);
  CHECK(parsed.at("num_processes") == 8);
  // 16/N bytes per parameter.
  const nlohmann::json& sharded = parsed.at("bytes").at("zero3");
  CHECK(sharded.at("values").get<double>() + sharded.at("gradients").get<double>() +
            sharded.at("moments").get<double>() ==
        124439808.0 * 16 / 8);
}

TEST_CASE("estimate reads the folder of a published model", "[tool][estimate]") {
  const test::TemporaryFolder folder;
  write_file(folder / "config.json",
             R"({"model_type": "gpt2", "vocab_size": 100, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2})");
  const Finished finished = estimate({folder.path().string(), "--json"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  // Tables 100 x 8 and 16 x 8; a block 12 C^2 + 13 C; the last norm 2 C.
  CHECK(nlohmann::json::parse(finished.out).at("parameters") == 800 + 128 + 12 * 64 + 13 * 8 + 16);
}

TEST_CASE("estimate shows each stage of ranks that divide the model", "[tool][estimate]") {
  const Finished tensor = estimate({"small", "--tensor", "2"});
  INFO(tensor.err);
  CHECK(tensor.exit_code == 0);
  CHECK_THAT(tensor.out, ContainsSubstring("--pipeline 1 x --tensor 2 x 1 rank. Micro-batches in a step: 1;"));
  const Finished both = estimate({"gpt2", "--tensor", "2", "--pipeline", "4", "--num-processes", "16", "--zero", "1",
                                  "--accumulation-steps", "8", "--batch-size", "1"});
  CHECK_THAT(both.out, ContainsSubstring("of stage 3") && ContainsSubstring("2 ranks that share the samples and the"));
  const Finished json = estimate({"gpt2", "--pipeline", "2", "--batch-size", "1", "--json"});
  const nlohmann::json stages = nlohmann::json::parse(json.out).at("stages");
  REQUIRE(stages.size() == 2);
  // Six blocks and both embeddings; six blocks, the last norm and a copy of the table.
  const double block = 12.0 * 768 * 768 + 13 * 768, table = 50257.0 * 768;
  CHECK(stages[0].at("values").get<double>() == 4 * (6 * block + table + 1024 * 768));
  CHECK(stages[1].at("values").get<double>() == 4 * (6 * block + table + 2 * 768));
  CHECK(stages[1].at("moments").get<double>() == 8 * (6 * block + 2 * 768));
}

TEST_CASE("estimate answers wrong input with what would be right", "[tool][estimate]") {
  const test::TemporaryFolder folder;
  struct Case {
    std::vector<std::string> words;
    std::string message;
  };
  for (const Case& wrong :
       std::vector<Case>{{{}, "model"},
                         {{"gtp2"}, "there is no model and no folder 'gtp2'; did you mean gpt2?"},
                         {{folder.path().string()}, folder.path().string()},
                         {{"tiny", "--context", "4096"}, "--context 4096: tiny sees at most 128 positions"},
                         {{"tiny", "--mixed-precision", "fp8"}, "there is no 'fp8'"},
                         {{"tiny", "--tensor", "2", "--pipeline", "2", "--num-processes", "6"},
                          "6 ranks are no multiple of --tensor 2 x --pipeline 2"},
                         {{"tiny", "--tensor", "3"}, "cannot divide the 4 heads of tiny"},
                         {{"tiny", "--pipeline", "64"}, "--pipeline 64: tiny has only"},
                         {{"tiny", "--zero", "2", "--tensor", "2"}, "take --zero 1"},
                         {{"tiny", "--sequence-parallel"}, "add --tensor 2"},
                         {{"tiny", "--last-stage-blocks", "1"}, "add --pipeline 2"},
                         {{"tiny", "--batch-size", "0"}, "--batch-size"}}) {
    const Finished finished = estimate(wrong.words);
    INFO(finished.err);
    CHECK((finished.exit_code == 1 || finished.exit_code == 2));
    CHECK_THAT(finished.err, ContainsSubstring("lockstep estimate: ") && ContainsSubstring(wrong.message));
  }
}
