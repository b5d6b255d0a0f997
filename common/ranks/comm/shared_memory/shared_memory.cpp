#include "comm/shared_memory/shared_memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/round_up.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/shared_memory/shared_file.hpp"
#include "comm/transport.hpp"

namespace lockstep::comm {
namespace {

// How long a rank whose wait fails waits for the control plane to tell the reason.
constexpr std::chrono::milliseconds kFailureLimit{500};

}  // namespace

// The first page of the file. A note is written before its step, and read after.
struct SharedMemory::ControlPage {
  struct Post {
    std::atomic<std::uint64_t> step;
    Note note;
  };
  // Two posts in turn: a rank may write its next one while a slow rank still reads the last one, and it cannot be two
  // ahead, since all_gather() waits for all.
  struct alignas(64) Member {
    Doorbell doorbell;
    std::array<Post, 2> posts;
    alignas(
        64) std::atomic<std::uint32_t> has_left;  // on a line that no other rank writes: others poll it while they wait
  };

  [[nodiscard]] Member& of(int rank) noexcept { return reinterpret_cast<Member*>(this)[rank]; }
  [[nodiscard]] static std::size_t bytes_for(int world_size) noexcept {
    return round_up(static_cast<std::size_t>(world_size) * sizeof(Member), page_bytes());
  }
};

SharedMemory::SharedMemory(const JobContext& context, UniqueFd file)
    : context_(context), job_(context.control), file_(std::move(file)) {
  context_.store.reset();
  context_.control.reset();
}

SharedMemory::~SharedMemory() {
  for (const SharedRegion& region : regions_) unmap_shared_file(region.data, region.bytes);
}

// The file already has the size of its first page: rank 0 sets it before it hands the file out.
void SharedMemory::open_control_page() {
  const SharedRegion page = add_region(0, ControlPage::bytes_for(world_size()), Reserve::kNow);
  control_ = reinterpret_cast<ControlPage*>(page.data);
  end_ = page.bytes;
  waiter_.emplace(make_waiter(control_->of(rank()).doorbell));
}

std::size_t SharedMemory::control_page_bytes(int world_size) noexcept { return ControlPage::bytes_for(world_size); }

SharedRegion SharedMemory::add_region(std::uint64_t offset, std::size_t bytes, Reserve reserve) {
  const Pages pages = reserve == Reserve::kNow ? Pages::kHugeIfLarge : Pages::kSmall;
  std::byte* const data = map_shared_file(file_.get(), offset, bytes, pages);
  if (data == nullptr) throw IoError(concat("mapping ", bytes, " bytes of shared memory"), errno);
  const SharedRegion region{data, bytes, offset};
  const std::scoped_lock lock(mutex_);
  regions_.push_back(region);
  return region;
}

std::vector<SharedMemory::Note> SharedMemory::all_gather(const Note& own, std::string_view what,
                                                         const Deadline& deadline) {
  check_not_interrupted();
  const std::uint64_t step = ++steps_;
  const auto post_of = [&](int rank) -> ControlPage::Post& { return control_->of(rank).posts[step % 2]; };
  post_of(rank()).note = own;
  post_of(rank()).step.store(step, std::memory_order_seq_cst);
  for (int peer = 0; peer < world_size(); ++peer) control_->of(peer).doorbell.ring();

  std::vector<Note> notes;
  for (int peer = 0; peer < world_size(); ++peer) {
    const auto has_posted = [&] { return post_of(peer).step.load(std::memory_order_seq_cst) == step; };
    if (!wait_for(peer, *waiter_, has_posted, deadline)) {
      throw TimeoutError(concat(name_of(rank()), ": ", what, ": ", name_of(peer), " did not arrive for ",
                                format_seconds(deadline.waited())));
    }
    notes.push_back(post_of(peer).note);
  }
  return notes;
}

void SharedMemory::check_same_bytes(const std::vector<Note>& notes) const {
  for (int peer = 1; peer < world_size(); ++peer) {
    if (notes[peer].bytes == notes[0].bytes) continue;
    throw MismatchError(concat("ranks ask for different amounts of shared memory: ", name_of(0), " ", notes[0].bytes,
                               " bytes, ", name_of(peer), " ", notes[peer].bytes));
  }
}

SharedRegion SharedMemory::grow(std::size_t bytes, const Deadline& deadline, Reserve reserve) {
  require(bytes > 0, "shared memory: a region needs at least one byte");
  const std::string what = concat("growing shared memory by ", bytes, " bytes");
  check_same_bytes(all_gather({.bytes = bytes}, what, deadline));
  const std::size_t rounded = round_up(bytes, page_bytes());
  const std::uint64_t offset = bytes >= kHugePageBytes ? round_up(end_, kHugePageBytes) : end_;

  const auto extend = reserve == Reserve::kNow ? extend_shared_file : extend_sparse_file;
  const int own_error = rank() == 0 ? extend(file_.get(), offset, rounded) : 0;
  const auto extended = all_gather({.number = own_error}, what, deadline);
  if (const auto error = static_cast<int>(extended[0].number); error != 0) {
    throw IoError(concat(what, " (is there that much memory, and no limit on file sizes?)"), error);
  }
  end_ = offset + rounded;

  SharedRegion region;
  std::exception_ptr failure;
  try {
    region = add_region(offset, rounded, reserve);
  } catch (...) {
    failure = std::current_exception();
  }
  const auto mapped = all_gather({.number = failure ? 1 : 0}, what, deadline);
  if (failure) std::rethrow_exception(failure);
  for (int peer = 0; peer < world_size(); ++peer) {
    if (mapped[peer].number != 0) throw IoError(concat(what, ": ", name_of(peer), " cannot map it"));
  }
  return region;
}

void SharedMemory::reserve(const std::byte* data, std::size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  const auto holds = [&](const SharedRegion& region) {
    return data >= region.data && data < region.data + region.bytes;
  };
  const auto region = std::ranges::find_if(regions_, holds);
  require(region != regions_.end(), "shared memory: the memory to reserve is in no region");
  const auto inside = static_cast<std::uint64_t>(data - region->data);
  const int error = reserve_in_shared_file(file_.get(), region->offset + inside, bytes);
  if (error != 0) throw IoError(concat(name_of(rank()), ": reserving ", bytes, " bytes of shared memory"), error);
}

std::uint64_t SharedMemory::reserved_bytes() const noexcept { return comm::reserved_bytes(file_.get()); }

std::byte* SharedMemory::at(std::uint64_t offset, std::size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  const auto next = std::ranges::upper_bound(regions_, offset, {}, &SharedRegion::offset);
  if (next != regions_.begin()) {
    const SharedRegion& region = *std::prev(next);
    const std::uint64_t inside = offset - region.offset;
    if (inside <= region.bytes && bytes <= region.bytes - inside) return region.data + inside;
  }
  throw FormatError(concat("shared memory: ", bytes, " bytes at ", offset, " are in no region"));
}

Waiter SharedMemory::make_waiter(Doorbell& own) {
  return {own, WaitPolicy::for_ranks(std::max(context_.local_world_size, world_size())), [this] { check_running(); }};
}

std::string SharedMemory::name_of(int peer) const { return concat("rank ", context_.global_rank(peer)); }

void SharedMemory::leave() noexcept { control_->of(rank()).has_left.store(1, std::memory_order_seq_cst); }

bool SharedMemory::has_left(int peer) const noexcept {
  return control_->of(peer).has_left.load(std::memory_order_seq_cst) != 0;
}

void SharedMemory::throw_left(int peer) const {
  // If it left because of a failure, the control plane reports it shortly.
  if (const auto job = job_.lock()) (void)job->wait_for_failure(Deadline::after(kFailureLimit));
  check_running();
  throw LinkError(concat("shared memory: ", name_of(peer), " has left the group of ", name_of(rank())));
}

void SharedMemory::check_not_interrupted() const {
  if (is_interrupted_) throw IoError(concat(name_of(rank()), ": shared memory: interrupted"));
}

void SharedMemory::check_running() const {
  check_not_interrupted();
  const auto job = job_.lock();
  const auto failure = job ? job->failure() : nullptr;
  if (failure) std::rethrow_exception(to_exception(*failure, concat(name_of(rank()), ": shared memory")));
}

}  // namespace lockstep::comm
