// generate and evaluate on a folder as Hugging Face publishes GPT-2.
#include <limits>
#include <regex>

#include "base/file.hpp"
#include "pretrained/gpt2_layout.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

test::Finished run(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{test::built_program(program)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
}

double number_behind(const std::string& text, const std::string& word) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(word + " +([0-9.]+)")) ? std::stod(match[1]) : -1;
}

}  // namespace

TEST_CASE("generate writes with Hugging Face's files, the same text for a seed with and without a cache", "[05]") {
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "gpt2", {.type = "BF16", .mask_type = "U8"});
  const std::vector<std::string> arguments{
      "--model", (folder / "gpt2").string(), "--prompt", "the th", "--tokens", "30", "--top-p", "0.95", "--seed", "4"};
  const test::Finished cached = run("generate", arguments);
  INFO(cached.err);
  CHECK(cached.exit_code == 0);
  CHECK(cached.out.starts_with("the th"));
  auto uncached = arguments, other_seed = arguments;
  uncached.emplace_back("--no-cache");
  other_seed.back() = "5";
  CHECK(run("generate", arguments).out == cached.out);
  CHECK(run("generate", uncached).out == cached.out);
  CHECK(run("generate", other_seed).out != cached.out);
  CHECK(run("generate", {(folder / "gpt2").string(), "--tokens", "2"}).out.starts_with("<|endoftext|>"));
}

TEST_CASE("evaluate says loss, perplexity and bits per byte, and counts each token once", "[05]") {
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "gpt2", {});
  write_file(folder / "text", "the cat and the dog");  // 15 tokens: "the" is one
  const test::Finished finished =
      run("evaluate", {"--model", (folder / "gpt2").string(), "--text", (folder / "text").string(), "--stride", "4"});
  INFO(finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("19 bytes, 15 tokens (byte-level BPE with 259 tokens)"));
  CHECK_THAT(finished.out, ContainsSubstring("over 14 predicted tokens"));
  const double loss = number_behind(finished.out, "loss"), bits = number_behind(finished.out, "bits per byte");
  CHECK(number_behind(finished.out, "perplexity") == Approx(std::exp(loss)).epsilon(1e-3));
  CHECK(bits == Approx(loss * 14 / std::log(2) / 16).epsilon(1e-3));  // 16: bytes after the first token
}

TEST_CASE("evaluate and generate refuse weights that are not finite, and name the tensor", "[05]") {
  const std::string program = GENERATE("generate", "evaluate");
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "gpt2", {});
  auto tensors = test::gpt2_tensors({"small", 259, 16, 2, 2, 12}, {});
  tensors.back().data.replace(0, 4, test::bytes_from<float>({std::numeric_limits<float>::quiet_NaN()}));
  test::write_raw(folder / "gpt2/model.safetensors", tensors);
  const test::Finished finished = run(program, {(folder / "gpt2").string()});
  CHECK(finished.exit_code == 1);
  CHECK(finished.out.empty());
  CHECK_THAT(finished.err, ContainsSubstring("tensor ln_f.bias has 1 of 16 elements that are not finite"));
}

TEST_CASE("what a file calls its tensors does not reach the terminal as it is", "[05]") {
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "gpt2", {});
  auto tensors = test::gpt2_tensors({"small", 259, 16, 2, 2, 12}, {});
  tensors.push_back({"\\u001b]0;owned\\u0007", "F32", "[1]", std::string(4, '\0')});
  test::write_raw(folder / "gpt2/model.safetensors", tensors);
  const test::Finished finished = run("generate", {(folder / "gpt2").string()});
  CHECK(finished.exit_code == 1);
  CHECK(finished.err.find('\x1B') == std::string::npos);
  CHECK_THAT(finished.err, ContainsSubstring("belong to no GPT-2 with 2 layers: \\x1b]0;owned\\x07"));
}

TEST_CASE("evaluate and generate say what is wrong with a model or a window", "[05]") {
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "gpt2", {});
  const std::string model = (folder / "gpt2").string();
  CHECK_THAT(run("evaluate", {model, "--stride", "12"}).err, ContainsSubstring("--stride 12: must be below the 12"));
  CHECK_THAT(run("evaluate", {model, "--window", "13"}).err, ContainsSubstring("--window 13: the model sees 2 to 12"));
  CHECK_THAT(run("generate", {model, "--top-p", "0"}).err, ContainsSubstring("--top-p"));
  std::filesystem::remove(folder / "gpt2" / "merges.txt");
  CHECK_THAT(run("generate", {model}).err, ContainsSubstring("has no merges.txt"));
  CHECK_THAT(run("generate", {folder.path().string()}).err, ContainsSubstring("no checkpoint in"));
}
