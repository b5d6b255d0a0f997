#pragma once
// The file with the states of a checkpoint's objects. Internal to this module.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "08_accelerate/state/saved_objects.hpp"

namespace lockstep::accelerate {

// The states in a checkpoint, checked as far as possible before anything is changed.
class StateReader {
 public:
  // Throws IoError, and FormatError if it does not fit the objects.
  StateReader(const std::filesystem::path& checkpoint, const SavedObjects& objects);

  [[nodiscard]] std::int64_t number() const { return state_.at("number").get<std::int64_t>(); }
  [[nodiscard]] std::int64_t world_size() const { return state_.at("world_size").get<std::int64_t>(); }

  // The n-th of a kind.
  [[nodiscard]] const nlohmann::json& at(const char* kind, std::size_t index) const {
    return state_.at(kind).at(index);
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const nlohmann::json& objects() const { return state_.at("objects"); }

  // One rank's objects.
  [[nodiscard]] const nlohmann::json& of_rank(int rank, const std::vector<run::KeptState>& objects) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  [[nodiscard]] bool has(const char* name) const { return state_.is_object() && state_.contains(name); }
  void require_list(const char* name, const char* what, std::size_t count) const;
  void require_states(const nlohmann::json& state, const char* name, const std::vector<run::KeptState>& objects) const;
  void require_names(const nlohmann::json& states, const std::vector<run::KeptState>& objects) const;

  std::filesystem::path path_;
  nlohmann::json state_;
};

}  // namespace lockstep::accelerate
