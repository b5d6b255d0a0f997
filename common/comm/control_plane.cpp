#include "comm/control_plane.hpp"

#include <utility>

#include "base/error.hpp"
#include "comm/control_hub.hpp"
#include "comm/control_member.hpp"
#include "comm/get_or_fail.hpp"
#include "store/store.hpp"

namespace lockstep::comm {
namespace {

// How long rank 0 stays for ranks that finish later.
constexpr std::chrono::seconds kStayLimit{2};

}  // namespace

std::exception_ptr to_exception(const Failure& failure, const std::string& context) {
  const std::string message = context.empty() ? failure.message : concat(context, ": ", failure.message);
  if (failure.kind == FailureKind::kMismatch) return std::make_exception_ptr(MismatchError(message));
  if (failure.kind == FailureKind::kTimeout) return std::make_exception_ptr(TimeoutError(message));
  return std::make_exception_ptr(PeerFailedError(message, failure.culprit));
}

ControlPlane::ControlPlane(const JobContext& context, const Deadline& deadline) {
  const std::string key = concat("generation/", context.generation, "/control/address");
  if (context.rank == 0) {
    hub_ = std::make_unique<Hub>(context, deadline);
    context.store->set(key, hub_->address().text());
  }
  const std::string task = concat("rank ", context.rank, ": waiting for the control plane of rank 0");
  const auto address = net::SocketAddress::parse(get_or_fail(context, key, task, deadline));
  member_ = std::make_unique<Member>(context, address, deadline);
  try {
    member_->wait_until_ready(deadline);
  } catch (const Error&) {  // ranks that come later shall be told why, too
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

int ControlPlane::next_group_id() noexcept { return member_->next_group_id(); }
int ControlPlane::next_split() const noexcept { return member_->next_split(); }
int ControlPlane::take_part_in_split(int split, int first_member) noexcept {
  return member_->take_part_in_split(split, first_member);
}
void ControlPlane::register_group(int group, std::vector<int> members) {
  member_->register_group(group, std::move(members));
}
void ControlPlane::forget_group(int group) noexcept { member_->forget_group(group); }
void ControlPlane::on_issued(int group, const Fingerprint& fingerprint) noexcept {
  member_->on_issued(group, fingerprint);
}
void ControlPlane::on_started(int group, const Fingerprint& fingerprint) noexcept {
  member_->on_started(group, fingerprint);
}
void ControlPlane::on_ended(int group) noexcept { member_->on_ended(group); }
void ControlPlane::on_pair_started(int group, const Fingerprint& operation) noexcept {
  member_->on_pair_started(group, operation);
}
void ControlPlane::on_pair_ended(int group, const Fingerprint& operation) noexcept {
  member_->on_pair_ended(group, operation);
}
void ControlPlane::post(int group, const Fingerprint& call) { member_->post(group, call); }
void ControlPlane::wait_until_agreed(int group, const Fingerprint& call, const Deadline& deadline) const {
  member_->wait_until_agreed(group, call, deadline);
}
void ControlPlane::abort(const Failure& failure) noexcept { member_->abort(failure); }
std::shared_ptr<const Failure> ControlPlane::failure() const noexcept { return member_->failure(); }
std::shared_ptr<const Failure> ControlPlane::wait_for_failure(const Deadline& deadline) const {
  return member_->wait_for_failure(deadline);
}
int ControlPlane::subscribe(FailureCallback on_failure) { return member_->subscribe(std::move(on_failure)); }
void ControlPlane::unsubscribe(int subscription) noexcept { member_->unsubscribe(subscription); }

}  // namespace lockstep::comm
