#include <filesystem>
#include <iomanip>
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/nearest_match.hpp"
#include "data/corpus.hpp"
#include "data/fetch.hpp"
#include "data/sentence_piece.hpp"
#include "data/text.hpp"
#include "data/token_file.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kTasks = {"tinyshakespeare", "tokenizer", "tokens"};

struct DataOptions {
  std::string task;
  std::string text;  // empty: the course text
  std::string out;   // empty: a folder in the project
  std::string tokenizer = "sentencepiece";
  std::int32_t pieces = ::lockstep::data::kUsualPieces;
};

std::string name_of(const DataOptions& options) { return options.text.empty() ? "the course text" : options.text; }

fs::path destination(const DataOptions& options, const std::string& usual) {
  const fs::path path = options.out.empty() ? find_project().root / "data" / usual : fs::path(options.out);
  fs::create_directories(fs::absolute(path).parent_path());
  return path;
}

int fetch_text(const DataOptions& options) {
  const fs::path file = destination(options, options.task + ".txt");
  ::lockstep::data::fetch_tiny_shakespeare(file);
  std::cout << file.string() << "\nTrain on it: " << tool_as_typed() << " train --data " << file.string() << "\n";
  return 0;
}

// Learns from the training part only, like training itself: validation data must stay unseen.
std::string learn(const DataOptions& options, std::int32_t pieces) {
  const std::string text = ::lockstep::data::text_to_learn_from({.data = options.text});
  return ::lockstep::data::train_sentence_piece(text, pieces, name_of(options));
}

int write_tokenizer(const DataOptions& options) {
  const std::string model = learn(options, options.pieces);
  const auto tokenizer = ::lockstep::data::sentence_piece_tokenizer(model, name_of(options));
  const fs::path file = destination(options, "tokenizer.model");
  write_file(file, model);
  std::cout << file.string() << ": " << tokenizer->description() << "\nTrain with it: " << tool_as_typed() << " train"
            << (options.text.empty() ? "" : " --data " + options.text) << " --tokenizer " << file.string() << "\n";
  return 0;
}

std::shared_ptr<const ::lockstep::data::Tokenizer> make_tokenizer(const DataOptions& options) {
  using Kind = ::lockstep::data::TokenizerSpec::Kind;
  const ::lockstep::data::TokenizerSpec spec = ::lockstep::data::parse_tokenizer_spec(options.tokenizer);
  switch (spec.kind) {
    case Kind::kBytes:
      return ::lockstep::data::byte_tokenizer();
    case Kind::kNumbers:
      throw UsageError("--tokenizer numbers: a text has no token numbers; use bytes or sentencepiece");
    case Kind::kFile:
      return ::lockstep::data::sentence_piece_tokenizer(read_file(spec.file), spec.file);
    case Kind::kTrained:
      break;
  }
  return ::lockstep::data::sentence_piece_tokenizer(learn(options, spec.vocabulary_size), name_of(options));
}

void write_part(const fs::path& file, std::string_view text, const ::lockstep::data::Tokenizer& tokenizer) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  ::lockstep::data::write_token_file(file, ids);
  std::cout << file.string() << ": " << text.size() << " bytes are " << ids.size() << " tokens, " << std::fixed
            << std::setprecision(2) << static_cast<double>(text.size()) / static_cast<double>(ids.size())
            << " bytes each\n";
}

int write_tokens(const DataOptions& options) {
  const auto tokenizer = make_tokenizer(options);
  const std::string text = ::lockstep::data::read_text(options.text);
  const ::lockstep::data::TextParts parts = ::lockstep::data::split_text(text, name_of(options));
  const fs::path folder = destination(options, "tokens");
  fs::create_directories(folder);
  write_part(folder / "training.bin", parts.training, *tokenizer);
  write_part(folder / "validation.bin", parts.validation, *tokenizer);
  std::string tokenizer_option = options.tokenizer;
  if (!tokenizer->model().empty()) {
    tokenizer_option = (folder / "tokenizer.model").string();
    write_file(tokenizer_option, tokenizer->model());
  }
  std::cout << "Train on them: " << tool_as_typed() << " train --data " << (folder / "training.bin").string()
            << " --validation-data " << (folder / "validation.bin").string() << " --tokenizer " << tokenizer_option
            << "\n";
  return 0;
}

void bind(CommandLine& app, DataOptions& options) {
  app.footer(
      "  tinyshakespeare   fetches a well-known text and verifies its checksum\n"
      "  tokenizer [TEXT]  learns pieces of words from the training part of a text\n"
      "  tokens [TEXT]     writes a text as files of tokens, in llm.c's format, to train on\n"
      "TEXT is the course text if left out.");
  app.add_option("task", options.task, "tinyshakespeare, tokenizer or tokens").required();
  app.add_option("text", options.text, "Text to read").check(readable_file());
  app.add_option("--out", options.out,
                 "File to write, or a folder for tokens (below data/ in the project's folder if left out)");
  app.add_option("--tokenizer", options.tokenizer,
                 "For tokens: bytes, sentencepiece, sentencepiece:PIECES, FILE.model");
  app.add_option("--pieces", options.pieces, "For tokenizer: how many pieces to learn")
      .check(whole_number(1, INT32_MAX));
}

}  // namespace

int data(const Arguments& arguments) {
  DataOptions options;
  CommandLine app("Fetches texts, learns tokenizers and writes files of tokens", "lockstep data");
  bind(app, options);
  if (const auto done = app.parse(arguments)) return *done;
  if (options.task == "tokenizer") return write_tokenizer(options);
  if (options.task == "tokens") return write_tokens(options);
  if (options.task == kTasks.front()) return fetch_text(options);
  throw UsageError(concat("no text or task called ", options.task, did_you_mean(options.task, kTasks),
                          " (there are tinyshakespeare, tokenizer and tokens; for a file of your own use ",
                          tool_as_typed(), " train --data FILE)"));
}

}  // namespace lockstep::tool
