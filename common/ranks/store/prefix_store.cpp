#include "store/prefix_store.hpp"

#include <utility>

#include "base/error.hpp"

namespace lockstep::store {

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : prefix_(std::move(prefix)), store_(std::move(store)) {
  require(!prefix_.empty() && store_ != nullptr, "PrefixStore needs a prefix and a store");
}

std::string PrefixStore::full(const std::string& key) const {
  require(!key.empty(), "store: an empty key under the prefix ", prefix_);
  return concat(prefix_, "/", key);
}

void PrefixStore::set(const std::string& key, const std::string& value) { store_->set(full(key), value); }
std::string PrefixStore::get(const std::string& key, const Deadline& deadline) {
  return store_->get(full(key), deadline);
}
std::optional<std::string> PrefixStore::try_get(const std::string& key) { return store_->try_get(full(key)); }
std::int64_t PrefixStore::add(const std::string& key, std::int64_t amount) { return store_->add(full(key), amount); }
std::string PrefixStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return store_->compare_set(full(key), expected, desired);
}
bool PrefixStore::erase(const std::string& key) { return store_->erase(full(key)); }

}  // namespace lockstep::store
