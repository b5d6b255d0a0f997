#pragma once
/// @file
/// A namespace within a store, for users whose keys must not collide.
#include <memory>

#include "store/store.hpp"

namespace lockstep::store {

/// Prepends "prefix/" to every key of another store. Thread safety: that store's.
class PrefixStore final : public Store {
 public:
  /// @param prefix  Not empty. The limit on keys is kMaxKeyBytes minus the prefix and its slash.
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);

  void set(const std::string& key, const std::string& value) override;
  [[nodiscard]] std::string get(const std::string& key, const Deadline& deadline) override;
  [[nodiscard]] std::optional<std::string> try_get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool erase(const std::string& key) override;

 private:
  [[nodiscard]] std::string full(const std::string& key) const;

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace lockstep::store
