// What `./lockstep run NN --mine` is asked for.
#include "exercise_tool/mine_request.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::exercise;
using Words = std::vector<std::string>;

TEST_CASE("run --mine takes chapter, ranks and options in any order", "[exercise]") {
  const Words words = GENERATE(Words{"09", "--mine", "--nproc", "3", "--", "--steps", "5", "--zero", "1"},
                               Words{"--mine", "9", "--steps", "5", "--nproc=3", "--zero", "1"},
                               Words{"--nproc", "3", "09_sharded", "--steps", "5", "--mine", "--zero", "1"});
  const MineRequest request = parse_mine_request(words);
  CHECK(request.trainer.program == "train_gpt_sharded_mine");
  CHECK(std::ranges::find(request.trainer.exercises, std::string("09.2")) != request.trainer.exercises.end());
  CHECK(request.nproc == "3");
  CHECK(request.options == Words{"--steps", "5", "--zero", "1", "--sample-tokens", "0"});
}

TEST_CASE("run --mine trains chapter 06 with two ranks and 60 steps unless told otherwise", "[exercise]") {
  const MineRequest request = parse_mine_request({"06", "--mine"});
  CHECK(request.trainer.program == "train_gpt_mine");
  CHECK(request.nproc == "2");
  CHECK(request.options == Words{"--steps", "60", "--sample-tokens", "0"});
}

TEST_CASE("run --mine has a trainer for chapters 10 and 11", "[exercise]") {
  const MineRequest tensor = parse_mine_request({"10", "--nproc", "4", "--mine", "--", "--sequence-parallel"}),
                    stages = parse_mine_request({"11_pipeline_parallel", "--mine", "--accumulation-steps", "4"});
  CHECK(tensor.trainer.program == "train_gpt_tensor_parallel_mine");
  CHECK(tensor.nproc == "4");
  CHECK(tensor.options == Words{"--sequence-parallel", "--steps", "60", "--sample-tokens", "0"});
  CHECK(stages.trainer.program == "train_gpt_pipeline_mine");
  CHECK(std::ranges::find(stages.trainer.exercises, std::string("11.3")) == stages.trainer.exercises.begin());
}

TEST_CASE("run --mine refuses in a sentence what it cannot do", "[exercise]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(parse_mine_request({"05", "--mine"}),
                    ContainsSubstring("chapters 06, 09, 10 and 11") && ContainsSubstring("not 05"));
  CHECK_THROWS_WITH(parse_mine_request({"09", "--mine", "--resume", "x"}),
                    ContainsSubstring("run 09 --mine chooses --resume"));
  CHECK_THROWS_WITH(parse_mine_request({"06", "--mine", "--out=x"}), ContainsSubstring("run 06 --mine chooses --out"));
  CHECK_THROWS_WITH(parse_mine_request({"09", "--mine", "--zero", "3"}), ContainsSubstring("leave out --zero 3"));
  CHECK_THROWS_WITH(parse_mine_request({"09", "--mine", "--", "--zero=0"}), ContainsSubstring("leave out --zero 0"));
}
