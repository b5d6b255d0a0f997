#include "exercise_tool/mine_request.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

// exercises/mine joins the files to the trainers: parts.cpp, stage_one.cpp, divided_layers.cpp, and for chapter 11 the
// program itself.
constexpr std::array kUsableIn06 = {"02.1", "02.2", "05.1", "06.1", "06.3", "06.4", "06.5"};
constexpr std::array kUsableIn09 = {"09.2", "06.5"};
constexpr std::array kUsableIn10 = {"10.1", "10.2", "10.3"};
constexpr std::array kUsableIn11 = {"11.3", "11.1"};
constexpr std::array kTrainers = {MineTrainer{"06", "train_gpt_mine", kUsableIn06},
                                  MineTrainer{"09", "train_gpt_sharded_mine", kUsableIn09},
                                  MineTrainer{"10", "train_gpt_tensor_parallel_mine", kUsableIn10},
                                  MineTrainer{"11", "train_gpt_pipeline_mine", kUsableIn11}};

bool is_given(const std::vector<std::string>& words, const std::string& option) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
}

// "6", "06" and "06_gpt_ddp" all name the chapter.
MineTrainer trainer_of(const std::string& word) {
  const std::string number = word.size() == 1 ? "0" + word : word.substr(0, word.find('_'));
  const auto trainer = std::ranges::find(kTrainers, number, &MineTrainer::chapter);
  if (trainer == kTrainers.end())
    throw UsageError(
        concat("--mine is for chapters 06, 09, 10 and 11, which train the GPT: ./lockstep run 06 --mine, not ", word));
  return *trainer;
}

// The argument of --zero, or 1.
std::string stage_in(const std::vector<std::string>& options) {
  std::string stage = "1";
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == "--zero" && i + 1 < options.size()) stage = options[i + 1];
    if (options[i].starts_with("--zero=")) stage = options[i].substr(7);
  }
  return stage;
}

void require_possible(const MineRequest& request) {
  const std::string command = concat("run ", request.trainer.chapter, " --mine");
  for (const char* option : {"--out", "--resume", "--compare"})
    if (is_given(request.options, option))
      throw UsageError(concat(command, " chooses ", option, " itself: leave it out"));
  if (request.trainer.chapter == "09" && stage_in(request.options) != "1")
    throw UsageError(concat(command, " trains with stage 1 of ZeRO, which is what 09.2 writes: leave out --zero ",
                            stage_in(request.options)));
}

}  // namespace

MineRequest parse_mine_request(const std::vector<std::string>& words) {
  MineRequest request{.trainer = kTrainers[0]};
  bool has_chapter = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--mine" || word == "--") continue;
    if (word == "--nproc" && i + 1 < words.size()) {
      request.nproc = words[++i];
    } else if (word.starts_with("--nproc=")) {
      request.nproc = word.substr(8);
    } else if (!has_chapter && !word.starts_with("-")) {
      request.trainer = trainer_of(word);
      has_chapter = true;
    } else {
      request.options.push_back(word);
    }
  }
  require_possible(request);
  if (!is_given(request.options, "--steps") && !is_given(request.options, "--epochs"))
    request.options.insert(request.options.end(), {"--steps", "60"});
  if (!is_given(request.options, "--sample-tokens"))
    request.options.insert(request.options.end(), {"--sample-tokens", "0"});
  return request;
}

}  // namespace lockstep::exercise
