#include <algorithm>
#include <cerrno>
#include <functional>

#include "08_accelerate/4_checkpoint_limit/checkpoint_limit.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"removes_first", "old checkpoints are removed before the new one is written, to make room",
     "If writing fails, they are gone for nothing. Remove last of all."},
    {"writes_in_place", "the new checkpoint is written under its own name at once",
     "If the power fails, half a checkpoint has a name that programs trust. Write kIncomplete, and rename it."},
    {"never_flushes", "the new checkpoint is never flushed, so its name may be on the disk before its contents are",
     "Call flush() before verify() and rename()."},
    {"verifies_before_flush", "the new checkpoint is verified before it is flushed, so what is on the disk is not read",
     "First flush(), then verify()."},
    {"never_verifies", "the new checkpoint is never read back",
     "Call verify() after flush(), and throw if it returns false."},
    {"removes_before_verify", "old checkpoints are removed before the new one has been verified",
     "A new checkpoint counts when it has been read back. Only then may old ones go."},
    {"removes_before_rename", "a checkpoint of the same number is removed before the new one is renamed",
     "rename() replaces what has that name, in one step."},
    {"removes_newest", "the newest checkpoints are removed, and the oldest stay",
     "Sort the numbers the other way around."},
    {"hides_failure", "the function returns as if all were well though nothing has been saved",
     "Its caller goes on training, and believes to have a checkpoint. Throw IoError."},
    {"keeps_one_more", "total_limit counts the old checkpoints only, so one more stays",
     "The new checkpoint is one of those that are kept."},
    {"alphabetical_order", "the first names in alphabetical order are removed, but step_10 comes before step_9",
     "Compare numbers: number_of()."},
    {"zero_keeps_one", "total_limit 0 removes all earlier checkpoints", "0 means that all are kept."},
    {"leaves_unfinished", "a checkpoint that could not be written stays as \"incomplete\"",
     "Remove it before the exception leaves the function: it fills the disk."},
    {"removes_after_failure", "old checkpoints are removed even if the new one could not be saved",
     "Where saving fails, nothing but the unfinished checkpoint goes."},
    {"verifies_under_its_name", "the new checkpoint is verified after it has got its name",
     "Until it is verified, programs may take it, and what had this name before is gone."},
    {"subtracts_limit", "the checkpoints up to number - total_limit are removed, as if their numbers had no gaps",
     "Count the checkpoints that are there: list() and number_of()."},
    {"ignores_verdict", "verify() is called, and what it returns is not looked at",
     "It returns false and throws nothing: throw IoError then."},
    {"counts_others", "everything in the folder counts as a checkpoint",
     "number_of() tells which names are checkpoints'."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {
namespace {

using exercise::is_mistake;

// All but the newest `kept`.
void remove_old(CheckpointStore& store, std::size_t kept) {
  std::vector<std::string> names;
  for (const std::string& name : store.list())
    if (number_of(name) || is_mistake("counts_others")) names.push_back(name);
  if (!is_mistake("alphabetical_order"))
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return number_of(name).value_or(-1); });
  if (is_mistake("removes_newest")) std::ranges::reverse(names);
  for (std::size_t i = 0; i + kept < names.size(); ++i) store.remove(names[i]);
}

void write_complete(CheckpointStore& store, const std::string& name) {
  store.write(name);
  if (is_mistake("removes_before_verify")) return;
  if (is_mistake("verifies_before_flush") && !store.verify(name)) throw IoError("verifying", EIO);
  if (!is_mistake("never_flushes")) store.flush(name);
  if (is_mistake("never_verifies") || is_mistake("verifies_before_flush")) return;
  if (is_mistake("verifies_under_its_name")) return;
  if (!store.verify(name) && !is_mistake("ignores_verdict")) throw IoError("verifying", EIO);
}

void remove_up_to(CheckpointStore& store, std::int64_t last) {
  for (const std::string& name : store.list())
    if (const auto number = number_of(name); number && *number <= last) store.remove(name);
}

}  // namespace

void save_checkpoint(CheckpointStore& store, std::int64_t number, int total_limit) {
  const auto limit = static_cast<std::size_t>(total_limit);
  const bool keeps_all = total_limit == 0 && !is_mistake("zero_keeps_one");
  if (is_mistake("removes_first") && !keeps_all) remove_old(store, limit - 1);
  const std::string name = checkpoint_name(number), written = is_mistake("writes_in_place") ? name : kIncomplete;
  try {
    write_complete(store, written);
  } catch (const IoError&) {
    if (!is_mistake("leaves_unfinished")) store.remove(written);
    if (is_mistake("removes_after_failure") && !keeps_all) remove_old(store, limit);
    if (is_mistake("hides_failure")) return;
    throw;
  }
  if (is_mistake("removes_before_rename")) store.remove(name);
  if (written != name) store.rename(written, name);
  if (is_mistake("verifies_under_its_name") && !store.verify(name)) {
    store.remove(name);
    throw IoError("verifying", EIO);
  }
  if (is_mistake("subtracts_limit") && !keeps_all) return remove_up_to(store, number - total_limit);
  if (is_mistake("removes_before_verify")) store.flush(name);
  if (!is_mistake("removes_first") && !keeps_all)
    remove_old(store, std::max<std::size_t>(limit, 1) + (is_mistake("keeps_one_more") ? 1 : 0));
  if (is_mistake("removes_before_verify") && !store.verify(name)) {
    store.remove(name);
    throw IoError("verifying", EIO);
  }
}

}  // namespace lockstep::accelerate
