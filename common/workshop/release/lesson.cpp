#include "release/lesson.hpp"

#include <algorithm>
#include <optional>
#include <regex>

#include "base/error.hpp"
#include "course/markdown.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;
using course::fence_of;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.size(), text.find('\n', at));
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// A path below the root; nothing for an address of another site or a heading of the same file.
std::optional<std::string> path_of_target(const std::string& lesson, const std::string& target) {
  const std::string file = target.substr(0, target.find('#'));
  if (file.empty() || target.find("://") != std::string::npos || target.starts_with("mailto:")) return std::nullopt;
  std::string path = (fs::path(lesson).parent_path() / file).lexically_normal().string();
  while (path.ends_with('/')) path.pop_back();
  return path;
}

// True if the text of a link, or something that looks like one, goes on in the next line.
bool ends_in_link(const std::string& line) {
  const std::size_t begin = line.rfind('[');
  return begin != std::string::npos && line.find(']', begin) == std::string::npos && line.size() - begin < 200;
}

class Rewriter {
 public:
  Rewriter(const std::string& path, const Plan& plan) : path_(path), plan_(plan) {}

  std::string rewrite(const std::vector<std::string>& lines) {
    std::string open_fence;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string fence = fence_of(lines[i]);
      if (!open_fence.empty()) {
        if (fence.starts_with(open_fence)) open_fence.clear();
        text_ += lines[i] + "\n";
      } else if (!fence.empty()) {
        open_fence = fence;
        text_ += lines[i] + "\n";
      } else if (const auto end = end_of_answer(lines, i)) {
        i = *end;
      } else {
        std::string piece = lines[i];
        while (ends_in_link(piece) && i + 1 < lines.size() && fence_of(lines[i + 1]).empty())
          piece += "\n" + lines[++i];
        text_ += with_known_links(piece) + "\n";
      }
    }
    return text_;
  }

 private:
  // If lines[i] is the link above an excerpt of an answer: writes the sentence, returns the excerpt's last line.
  std::optional<std::size_t> end_of_answer(const std::vector<std::string>& lines, std::size_t i) {
    static const std::regex kExcerpt(R"(\s*\[[^\]]*\]\(([^)\s]+#L\d+(-L\d+)?)\)\s*)");
    std::smatch match;
    if (!std::regex_match(lines[i], match, kExcerpt)) return std::nullopt;
    const auto target = path_of_target(path_, match[1]);
    const auto giveaway = plan_.giveaways.find(target.value_or(""));
    std::size_t begin = i + 1;
    while (begin < lines.size() && lines[begin].empty()) ++begin;
    if (giveaway == plan_.giveaways.end() || begin == lines.size()) return std::nullopt;
    const std::string fence = fence_of(lines[begin]);
    if (fence.empty()) return std::nullopt;
    std::size_t end = begin + 1;
    while (end < lines.size() && !fence_of(lines[end]).starts_with(fence)) ++end;
    text_ += sentence(giveaway->second) + "\n";
    return end;
  }

  std::string sentence(const std::set<std::string>& ids) const {
    std::string names;
    std::size_t number = 0;
    for (const exercise::Exercise& exercise : plan_.exercises) {
      if (!ids.contains(exercise.id)) continue;
      const fs::path task = exercise.in("exercises") / "TASK.md";
      if (number > 0) names += number + 1 == ids.size() ? " and " : ", ";
      names += concat("[", exercise.id, "](", task.lexically_relative(fs::path(path_).parent_path()).string(), ")");
      ++number;
    }
    return concat("*This code is what you write in exercise", ids.size() > 1 ? "s " : " ", names, ".*");
  }

  std::string with_known_links(const std::string& line) const {
    static const std::regex kLink(R"((!?)\[([^\[\]]*)\]\(([^)\s]+)\))");
    std::string result;
    auto rest = line.begin();
    for (auto at = std::sregex_iterator(line.begin(), line.end(), kLink); at != std::sregex_iterator(); ++at) {
      const auto path = path_of_target(path_, (*at)[3]);
      const bool is_known = !path || path->starts_with("..") || plan_.has(*path);
      result.append(rest, (*at)[0].first);
      result += is_known ? (*at)[0].str() : (*at)[2].str();
      rest = (*at)[0].second;
    }
    return result.append(rest, line.end());
  }

  std::string path_;
  const Plan& plan_;
  std::string text_;
};

}  // namespace

std::string rewrite_lesson(const std::string& path, const std::string& text, const Plan& plan) {
  std::string rewritten = Rewriter(path, plan).rewrite(lines_of(text));
  if (!text.ends_with('\n') && rewritten.ends_with('\n')) rewritten.pop_back();
  return rewritten;
}

}  // namespace lockstep::release
