#include "checkpoint/retention.hpp"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"

namespace lockstep::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNamePrefix = "step_";
constexpr std::string_view kRemovedPrefix = ".removed_";  // is being removed; a killed writer leaves it behind
constexpr std::string_view kAsidePrefix = "aside_";

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Runs a clean-up. Errors are logged, because they are no reason to end a run.
template <typename Work>
bool try_to(const char* what, const fs::path& path, const Work& work) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    Logger().warning(
        concat("cannot ", what, " ", path.string(), ", which is tried again at the next save: ", error.what()));
    return false;
  }
}

void remove_checkpoint(const fs::path& root, const Order& order) noexcept {
  const fs::path checkpoint = root / folder_name(order);
  (void)try_to("remove", checkpoint, [&] {
    const fs::path removed = root / concat(kRemovedPrefix, folder_name(order));
    fs::rename(checkpoint, removed);  // so that a kill in the middle leaves no half-removed checkpoint
    fs::remove_all(removed);
  });
}

}  // namespace

std::string folder_name(const Order& order) {
  std::ostringstream name;
  name << kNamePrefix << std::setw(8) << std::setfill('0') << order.step;
  if (order.attempt > 1) name << '.' << order.attempt;
  return std::move(name).str();
}

std::optional<Order> parse_folder_name(const std::string& name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  const std::string_view rest = std::string_view(name).substr(kNamePrefix.size());
  const std::size_t dot = rest.find('.');
  const auto step = parse_number(rest.substr(0, dot));
  const auto attempt = dot == std::string_view::npos ? 1 : parse_number(rest.substr(dot + 1));
  if (!step || !attempt) return std::nullopt;
  const Order order{*step, *attempt};
  if (folder_name(order) != name) return std::nullopt;  // "step_-1", "step_5": names that we never write
  return order;
}

std::string without_aside(const std::string& name) {
  if (!name.starts_with(kAsidePrefix)) return name;
  const std::string rest = name.substr(kAsidePrefix.size());
  return rest.substr(0, rest.find('_', kNamePrefix.size()));  // without the number of a second one set aside
}

std::vector<Order> find_checkpoints(const fs::path& root) {
  std::vector<Order> found;
  try {
    if (!fs::is_directory(root)) return found;
    for (const fs::directory_entry& entry : fs::directory_iterator(root))
      if (const auto order = parse_folder_name(entry.path().filename().string()); order && entry.is_directory())
        found.push_back(*order);
  } catch (const fs::filesystem_error& error) {
    throw IoError(concat("looking for checkpoints in ", root.string(), ": ", error.what()));
  }
  std::ranges::sort(found);
  return found;
}

void remove_leftovers(const fs::path& root) noexcept {
  std::vector<fs::path> leftovers;
  (void)try_to("look for leftovers in", root, [&] {
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kIncompletePrefix) || name.starts_with(kRemovedPrefix)) leftovers.push_back(entry.path());
    }
  });
  for (const fs::path& path : leftovers) (void)try_to("remove", path, [&path] { fs::remove_all(path); });
}

bool set_aside(const fs::path& root, const Order& order) noexcept {
  const fs::path checkpoint = root / folder_name(order);
  return try_to("set aside", checkpoint, [&] {
    fs::path aside = root / concat(kAsidePrefix, folder_name(order));
    for (int number = 2; fs::exists(aside); ++number)
      aside = root / concat(kAsidePrefix, folder_name(order), "_", number);
    fs::rename(checkpoint, aside);
    Logger().info(concat(checkpoint.string(), " is newer than what the run was resumed from; it is kept as ",
                         aside.filename().string(), " until somebody removes it"));
  });
}

void remove_old(const fs::path& root, int keep_last, const Order& newest, std::span<const Order> untouched) noexcept {
  std::vector<Order> others;
  if (!try_to("look for old checkpoints in", root, [&] { others = find_checkpoints(root); })) return;
  std::erase_if(others, [&](const Order& order) {
    return order == newest || std::ranges::find(untouched, order) != untouched.end();
  });
  int kept = 1;
  for (auto order = others.rbegin(); order != others.rend(); ++order) {
    if (*order > newest) {
      (void)set_aside(root, *order);
    } else if (++kept > keep_last) {
      remove_checkpoint(root, *order);
    }
  }
}

}  // namespace lockstep::checkpoint
