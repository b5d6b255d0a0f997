#include "comm_mpi/mpi_library.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lockstep::mpi_backend {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Pauses of a thread that is not notified. MPI makes progress only inside its calls, so the sleep stays short: longer
// ones would cost more bandwidth than they save processor time.
class Backoff {
 public:
  void pause() {
    constexpr microseconds kYielding{50}, kSleep{20};
    if (Clock::now() - begin_ < kYielding) return std::this_thread::yield();
    std::this_thread::sleep_for(kSleep);
  }

 private:
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

void check_mpi(int code) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw IoError(concat("MPI: ", std::string(text.data(), static_cast<std::size_t>(length))));
}

// Runs calls one after another. Shared with its thread, which may block in one for the rest of the process.
class MpiLibrary::MainThread : public std::enable_shared_from_this<MainThread> {
 public:
  void start() {
    std::thread([self = shared_from_this()] { self->work(); }).detach();
  }

  std::future<void> run(std::function<void()> call) {
    const std::scoped_lock lock(mutex_);
    call_ = std::packaged_task<void()>(std::move(call));
    changed_.notify_all();
    return call_.get_future();
  }

 private:
  [[noreturn]] void work() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return call_.valid(); });
      std::packaged_task<void()> call = std::move(call_);
      lock.unlock();
      call();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::packaged_task<void()> call_;
};

MpiLibrary& MpiLibrary::instance(const MpiWait& wait) {
  of_process().initialize(wait);
  return of_process();
}

MpiLibrary& MpiLibrary::of_process() {
  static MpiLibrary library;
  return library;
}

MpiLibrary::MpiLibrary() : main_thread_(std::make_shared<MainThread>()) { main_thread_->start(); }

void MpiLibrary::throw_if_given_up() const {
  if (is_given_up_) throw IoError("MPI has been given up after a failure of this process");
}

// Under mutex_. `call` may outlive this function: it must own, or share, whatever it uses.
void MpiLibrary::run_on_main_thread(const std::string& task, const std::function<void()>& call, const MpiWait& wait) {
  constexpr std::chrono::milliseconds kSlice{100};
  std::future<void> result = main_thread_->run(call);
  try {
    while (result.wait_until(Deadline::after(kSlice).earliest(wait.deadline).when()) != std::future_status::ready) {
      wait.check();
      if (wait.deadline.has_expired()) {
        throw TimeoutError(concat("MPI: ", task, " has not returned for ", format_seconds(wait.deadline.waited()),
                                  "; have all processes of mpirun come so far?"));
      }
    }
  } catch (...) {
    is_given_up_ = true;
    throw;
  }
  result.get();
}

void MpiLibrary::initialize(const MpiWait& wait) {
  const std::scoped_lock lock(mutex_);
  throw_if_given_up();
  if (is_initialized_) return;
  int is_initialized = 0, provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Initialized(&is_initialized));
  if (is_initialized != 0) {
    check_mpi(MPI_Query_thread(&provided));
  } else {
    const auto found = std::make_shared<int>(MPI_THREAD_SINGLE);
    run_on_main_thread(
        "MPI_Init_thread",
        [found] { check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, found.get())); }, wait);
    provided = *found;
    // Runs before functions registered earlier, so before the destruction of static objects that MPI may still use.
    if (std::atexit(&MpiLibrary::finalize) != 0) throw IoError("atexit refuses one more function");
  }
  if (provided < MPI_THREAD_SERIALIZED) {
    throw UnavailableError(
        "MPI was initialized for one thread; a process group calls it from several: initialize it "
        "with MPI_Init_thread and MPI_THREAD_SERIALIZED, or leave it to the group");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world_size_));
  is_initialized_ = true;
}

// MPI_Finalize waits for all processes. They first meet in a barrier, which can still be abandoned safely.
void MpiLibrary::finalize() noexcept {
  try {
    MpiLibrary& library = of_process();
    int is_finalized = 1;
    if (MPI_Finalized(&is_finalized) != MPI_SUCCESS || is_finalized != 0) return;
    const auto deadline = Deadline::after(library.exit_limit_);
    library.run([](MPI_Request* request) { return MPI_Ibarrier(MPI_COMM_WORLD, request); }, deadline,
                [] { return false; });
    const std::scoped_lock lock(library.mutex_);
    library.run_on_main_thread("MPI_Finalize", [] { MPI_Finalize(); }, {deadline, [] {}});
  } catch (const std::exception&) {
    // The others are not coming: mpirun reports that this process ended without MPI_Finalize.
  }
}

MPI_Comm MpiLibrary::make_communicator(std::span<const int> ranks, int tag, const MpiWait& wait) {
  const std::scoped_lock lock(mutex_);
  throw_if_given_up();
  const auto communicator = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
  const auto make = [communicator, tag, members = std::vector<int>(ranks.begin(), ranks.end())] {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &all));
    check_mpi(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some));
    constexpr int kTags = 32768;  // every MPI supports this many (MPI 4.0, section 9.1.2)
    check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, some, tag % kTags, communicator.get()));
    check_mpi(MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN));
    MPI_Group_free(&some);
    MPI_Group_free(&all);
  };
  run_on_main_thread("MPI_Comm_create_group", make, wait);
  return *communicator;
}

void MpiLibrary::free_communicator(MPI_Comm communicator) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!is_given_up_ && communicator != MPI_COMM_NULL) MPI_Comm_free(&communicator);
}

bool MpiLibrary::poll(MPI_Request& request) {
  const std::scoped_lock lock(mutex_);
  throw_if_given_up();
  int is_done = 0;
  check_mpi(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE));
  return is_done != 0;
}

void MpiLibrary::run(const std::function<int(MPI_Request*)>& start, const Deadline& deadline,
                     const std::function<bool()>& is_interrupted) {
  try {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::scoped_lock lock(mutex_);
      throw_if_given_up();
      check_mpi(start(&request));
    }
    for (Backoff backoff; !poll(request); backoff.pause()) {
      if (is_interrupted()) throw IoError("the group has failed");
      if (deadline.has_expired()) throw TimeoutError(concat("not complete after ", format_seconds(deadline.waited())));
    }
  } catch (...) {
    give_up();
    throw;
  }
}

void MpiLibrary::give_up() noexcept {
  const std::scoped_lock lock(mutex_);
  is_given_up_ = true;
}

void MpiLibrary::wait_at_exit_for(std::chrono::milliseconds limit) noexcept {
  const std::scoped_lock lock(mutex_);
  exit_limit_ = std::max(exit_limit_, limit);
}

}  // namespace lockstep::mpi_backend
