#include "exercise_tool/workspace.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise_tool/records.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

fs::file_time_type last_change(const Workspace& workspace, const Exercise& exercise) {
  fs::file_time_type latest = fs::file_time_type::min();
  for (const std::string& file : exercise.files) {
    std::error_code missing;
    const auto time = fs::last_write_time(workspace.work(exercise) / file, missing);
    if (!missing) latest = std::max(latest, time);
  }
  return latest;
}

}  // namespace

fs::path Workspace::work(const Exercise& exercise) const { return root / "work" / exercise.work_name(); }

bool Workspace::is_started(const Exercise& exercise) const { return fs::is_directory(work(exercise)); }

bool Workspace::has_solution(const Exercise& exercise) const { return fs::exists(exercise.in(root / "solutions")); }

std::string Workspace::shown(const fs::path& path) const { return path.lexically_relative(root).string(); }

const Exercise& Workspace::chosen(const std::vector<std::string>& words) const {
  if (!words.empty()) {
    const Exercise& exercise = find_exercise(catalogue, words.front());
    if (is_started(exercise)) return exercise;
    throw UsageError(concat(exercise.id, " is not started: ./lockstep start ", exercise.id));
  }
  const Exercise* latest = nullptr;
  for (const Exercise& exercise : catalogue) {
    if (!is_started(exercise)) continue;
    if (latest == nullptr || last_change(*this, exercise) > last_change(*this, *latest)) latest = &exercise;
  }
  if (latest != nullptr) return *latest;
  throw UsageError(concat("no exercise is started; the first one is: ./lockstep start ",
                          catalogue.empty() ? "00.1" : catalogue.front().id));
}

const Exercise* Workspace::next_open() const {
  const auto open = std::ranges::find_if(catalogue, [&](const Exercise& exercise) {
    return state_of(*this, exercise) != ExerciseState::kPassed &&
           state_of(*this, exercise) != ExerciseState::kReference;
  });
  return open == catalogue.end() ? nullptr : &*open;
}

Workspace open_workspace() {
  std::error_code ignored;
  Workspace workspace;
  workspace.build = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  workspace.root = environment::get("LOCKSTEP_ROOT").value_or(workspace.build.parent_path().parent_path().string());
  if (!fs::exists(workspace.root / "CMakePresets.json", ignored))
    throw UsageError(concat(workspace.root.string(), " is not the project's folder; set LOCKSTEP_ROOT to it"));
  workspace.catalogue = read_catalogue(workspace.root);
  return workspace;
}

std::string fingerprint(const Workspace& workspace, const Exercise& exercise) {
  std::uint64_t value = 0xcbf29ce484222325;  // FNV-1a, 64 bits (Fowler, Noll, Vo, 1991)
  for (const std::string& file : exercise.files) {
    const fs::path path = workspace.work(exercise) / file;
    for (const char byte : fs::exists(path) ? read_file(path) : "")
      value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return std::string(text.data(), 6);
}

}  // namespace lockstep::exercise
