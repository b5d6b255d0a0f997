#pragma once
/// @file
/// A test that mpirun started as several processes, which share their results.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/deadline.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/joining/job_environment.hpp"

namespace lockstep::test {

/// The processes of such a test. They run the same test cases in the same order and exchange text through files in an
/// empty folder, named by LOCKSTEP_TEST_PROCESSES.
class TestProcesses {
 public:
  /// Null if this process is not one of several.
  static const TestProcesses* current() {
    static const std::unique_ptr<TestProcesses> processes = [] {
      const auto folder = environment::get("LOCKSTEP_TEST_PROCESSES");
      return folder ? std::unique_ptr<TestProcesses>(new TestProcesses(*folder)) : nullptr;
    }();
    return processes.get();
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }  ///< Among the processes.
  [[nodiscard]] int count() const noexcept { return count_; }

  /// A name that all processes get from the same call, and from no other call.
  [[nodiscard]] std::string next_name() const { return "exchange_" + std::to_string(next_++); }

  /// A file visible to all processes.
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  /// Returns the text of each of the first `world_size` processes. @throws TimeoutError  One is missing after a minute.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& name, int world_size,
                                                  const std::string& own) const {
    const auto file_of = [&](int process) { return path(name + "_" + std::to_string(process)); };
    if (rank_ < world_size) {
      const std::filesystem::path unfinished = file_of(rank_).string() + ".part";
      std::ofstream(unfinished, std::ios::binary) << own;
      std::filesystem::rename(unfinished, file_of(rank_));
    }
    const auto deadline = Deadline::after(std::chrono::minutes(1));
    std::vector<std::string> all;
    for (int process = 0; process < world_size; ++process) {
      while (!std::filesystem::exists(file_of(process))) {
        if (deadline.has_expired()) throw TimeoutError(concat("process ", process, " of the test does not come"));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::ifstream file(file_of(process), std::ios::binary);
      all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return all;
  }

  /// The same for values: `own_values` has this process's at its rank. T: numbers, text, and vectors of them.
  template <typename T>
  [[nodiscard]] std::vector<T> exchange_values(int world_size, const std::vector<T>& own_values) const {
    if (world_size > count_) return own_values;  // the job was too large to run
    std::string bytes;
    if (rank_ < world_size) put(bytes, own_values[static_cast<std::size_t>(rank_)]);
    std::vector<T> values;
    for (const std::string& packed : exchange(next_name(), world_size, bytes)) {
      const char* at = packed.data();
      values.push_back(take<T>(at));
    }
    return values;
  }

 private:
  explicit TestProcesses(std::filesystem::path folder) : folder_(std::move(folder)) {
    const comm::EnvironmentPlace place = comm::read_place(environment::get);
    require(place.rank && place.world_size, "LOCKSTEP_TEST_PROCESSES is set, but no launcher's variables are");
    rank_ = *place.rank;
    count_ = *place.world_size;
  }

  template <typename T>
  static constexpr bool is_sequence = requires(T value) {
    value.resize(value.size());
  };

  // For types that only tests with threads as ranks return.
  [[noreturn]] static void refuse() { throw ContractError("a value of this type cannot travel between processes"); }

  // Plain types as their bytes, others as their length and elements.
  template <typename T>
  static void put(std::string& bytes, const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (is_sequence<T>) {
      put(bytes, value.size());
      for (const auto& element : value) put(bytes, element);
    } else {
      refuse();
    }
  }

  template <typename T>
  static T take(const char*& at) {
    T value{};
    if constexpr (std::is_trivially_copyable_v<T>) {
      std::memcpy(&value, at, sizeof value);
      at += sizeof value;
    } else if constexpr (is_sequence<T>) {
      value.resize(take<std::size_t>(at));
      for (auto& element : value) element = take<typename T::value_type>(at);
    } else {
      refuse();
    }
    return value;
  }

  std::filesystem::path folder_;
  int rank_ = 0;
  int count_ = 1;
  mutable int next_ = 0;
};

}  // namespace lockstep::test
