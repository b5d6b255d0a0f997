#include "comm/control/control_plane.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "comm/control/hub.hpp"
#include "comm/control/member.hpp"
#include "comm/get_or_fail.hpp"
#include "store/store.hpp"

namespace lockstep::comm {
namespace {

// How long rank 0 stays for ranks that finish later.
constexpr std::chrono::seconds kStayLimit{2};
constexpr std::size_t kMostPostedCalls = 1000;  // in one message, far below its capacity

}  // namespace

std::exception_ptr to_exception(const Failure& failure, const std::string& context) {
  const std::string prefix = context.empty() ? "" : concat(context, ": ");
  const bool has_prefix = failure.message.starts_with(prefix);  // of the rank that has reported it
  const std::string message = has_prefix ? failure.message : concat(prefix, failure.message);
  if (failure.kind == FailureKind::kMismatch) return std::make_exception_ptr(MismatchError(message));
  if (failure.kind == FailureKind::kTimeout) return std::make_exception_ptr(TimeoutError(message));
  return std::make_exception_ptr(PeerFailedError(message, failure.culprit));
}

ControlPlane::ControlPlane(const JobContext& context, const Deadline& deadline)
    : world_size_(context.world_size), shared_(std::make_unique<Shared>()) {
  const std::string key = concat("generation/", context.generation, "/control/address");
  if (context.rank == 0) {
    hub_ = std::make_unique<Hub>(context, deadline);
    hub_->start();
    context.store->set(key, hub_->address().text());
  }
  const std::string task = concat("rank ", context.rank, ": waiting for the control plane of rank 0");
  const auto published = net::SocketAddress::parse(get_or_fail(context, key, task, deadline));
  const net::SocketAddress address = net::as_seen_from(context.bind_address, published);
  member_ = std::make_unique<Member>(context, address, deadline, *shared_);
  try {
    member_->wait_until_ready(deadline);
  } catch (const Error&) {  // ranks that come later are told why, too
    member_->leave();
    if (hub_) hub_->leave(Deadline::after(kStayLimit));
    throw;
  }
}

ControlPlane::~ControlPlane() {
  const bool has_failed = failure() != nullptr;
  member_->leave();
  if (hub_) hub_->leave(Deadline::after(has_failed ? std::chrono::seconds{0} : kStayLimit));
}

// Multiples of P + 1 are groups of all ranks, the P numbers between them the groups of a split by their first member.
int ControlPlane::next_group_id() noexcept {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->group_count++ * (world_size_ + 1);
}

int ControlPlane::next_split() const noexcept {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->next_split;
}

int ControlPlane::take_part_in_split(int split, int first_member) noexcept {
  const std::scoped_lock lock(shared_->mutex);
  shared_->next_split = split + 1;
  return split * (world_size_ + 1) + 1 + first_member;
}

void ControlPlane::register_group(int group, std::vector<int> members) {
  for (const int member : members) {
    require(member >= 0 && member < world_size_, "register_group: ", member, " is not a rank of this job of ",
            world_size_);
  }
  std::vector<int> sorted = members;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  require(twice == sorted.end(), "register_group: rank ", twice == sorted.end() ? -1 : *twice,
          " is named more than once");
  const std::scoped_lock lock(shared_->mutex);
  shared_->outbox.push_back(
      {.type = ControlType::kGroup, .status = {}, .failure = {}, .group = group, .members = members});
  shared_->activity.register_group(group, std::move(members));
}

void ControlPlane::forget_group(int group) noexcept {
  const std::scoped_lock lock(shared_->mutex);
  shared_->outbox.push_back(
      {.type = ControlType::kForget, .status = shared_->activity.forget_group(group), .failure = {}, .group = group});
}

void ControlPlane::note(int group, const Fingerprint& call, CallStep step) noexcept {
  const std::scoped_lock lock(shared_->mutex);
  shared_->activity.note(group, call, step);
  if (step == CallStep::kIssued) shared_->last_words.reset();
}

void ControlPlane::post(int group, const Fingerprint& call) {
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->activity.on_posted(group);
    const bool continues = !shared_->outbox.empty() && shared_->outbox.back().type == ControlType::kPosted &&
                           shared_->outbox.back().group == group &&
                           shared_->outbox.back().calls.size() < kMostPostedCalls;
    if (!continues)
      shared_->outbox.push_back({.type = ControlType::kPosted, .status = {}, .failure = {}, .group = group});
    shared_->outbox.back().calls.push_back(call);
  }
  member_->wake();
}

void ControlPlane::wait_until_agreed(int group, const Fingerprint& call, const Deadline& deadline) const {
  std::unique_lock lock(shared_->mutex);
  const auto is_agreed = [&] { return shared_->activity.is_agreed(group, call); };
  shared_->changed.wait_until(lock, deadline.when(),
                              [&] { return is_agreed() || shared_->failure || shared_->has_hub_left; });
  if (is_agreed()) return;
  if (shared_->failure) std::rethrow_exception(to_exception(*shared_->failure, ""));
  if (shared_->has_hub_left) return;
  throw TimeoutError(concat("not all ranks have called it within ", format_seconds(deadline.waited())));
}

void ControlPlane::abort(const Failure& failure) noexcept {
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->outbox.push_back({.type = ControlType::kAbort, .status = shared_->activity.status(), .failure = failure});
  }
  member_->wake();
}

void ControlPlane::set_last_words(Failure failure) noexcept {
  const std::scoped_lock lock(shared_->mutex);
  shared_->last_words = std::move(failure);
}

std::shared_ptr<const Failure> ControlPlane::failure() const noexcept {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->failure;
}

std::shared_ptr<const Failure> ControlPlane::wait_for_failure(const Deadline& deadline) const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_until(lock, deadline.when(),
                              [this] { return shared_->failure != nullptr || shared_->has_ended; });
  return shared_->failure;
}

int ControlPlane::subscribe(FailureCallback on_failure) {
  const std::scoped_lock callback_lock(shared_->callback_mutex);
  if (const auto known = failure())
    on_failure(*known);
  else
    shared_->callbacks[shared_->next_subscription] = std::move(on_failure);
  return shared_->next_subscription++;
}

void ControlPlane::unsubscribe(int subscription) noexcept {
  const std::scoped_lock lock(shared_->callback_mutex);
  shared_->callbacks.erase(subscription);
}

}  // namespace lockstep::comm
