#include "release/copy.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "release/case_list.hpp"
#include "release/corpus_text.hpp"
#include "release/lesson.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCorpus = "common/train/data/course_text_v2.txt";

// A course file's text in the release.
std::string released(const std::string& path, const std::string& text, const Plan& plan, const Answers& answers) {
  if (path.ends_with(".md")) return rewrite_lesson(path, text, plan);
  if (is_case_list(path)) return rewrite_cases(text, plan);
  if (path == kCorpus) return rewrite_corpus(text, plan, answers);
  return text;
}

}  // namespace

void copy_files(const fs::path& root, const Plan& plan, const Answers& answers, const fs::path& out) {
  for (const std::string& path : plan.files) {
    const fs::path to = out / path;
    fs::create_directories(to.parent_path());
    if (fs::is_symlink(root / path)) {
      fs::copy_symlink(root / path, to);
      continue;
    }
    write_file(to, released(path, read_file(root / path), plan, answers));
    fs::permissions(to, fs::status(root / path).permissions());
  }
  const fs::path corpus = out / kCorpus;
  if (fs::exists(corpus))
    write_file(corpus.string() + ".sha256",
               concat(sha256_hex(read_file(corpus)), "  ", corpus.filename().string(), "\n"));
}

}  // namespace lockstep::release
