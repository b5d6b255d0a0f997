#include "device/read_lock.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "support/catch.hpp"

using namespace lockstep;
using Outcome = ReadLock::Outcome;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds kNever{100};  // longer than any test

std::chrono::steady_clock::time_point in(std::chrono::nanoseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// A thread that asks for a storage's bytes to write.
class Writer {
 public:
  explicit Writer(const Storage& storage)
      : storage_(storage), accesses_(storage.write_accesses()), thread_([this] {
          (void)storage_.data();
          has_them_ = true;
        }) {}

  // Whether it has them, some time after it has asked.
  [[nodiscard]] bool has_them() const {
    while (storage_.write_accesses() == accesses_) std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds(20));  // a writer that does not wait is done by then
    return has_them_;
  }
  void join() { thread_.join(); }

 private:
  const Storage& storage_;
  std::uint64_t accesses_;
  std::atomic<bool> has_them_ = false;
  std::jthread thread_;
};

}  // namespace

TEST_CASE("a writer waits for the last of several read locks, a reader for none", "[device]") {
  const auto storage = Storage::allocate(100);
  std::optional<ReadLock> first(std::in_place, storage, in(kNever)), second(std::in_place, storage, in(kNever));
  Writer writer(*storage);
  CHECK_FALSE(writer.has_them());
  CHECK(storage->const_data() != nullptr);
  first.reset();
  CHECK_FALSE(writer.has_them());
  CHECK(second->release() == Outcome::kUnchanged);
  writer.join();
  CHECK(second->release() == Outcome::kUnchanged);  // nothing is left to release
  (void)storage->data();                            // nobody waits any more
}

TEST_CASE("a lock that moves still locks, and one that is assigned to lets go of its own storage", "[device]") {
  const auto one = Storage::allocate(100), other = Storage::allocate(100);
  ReadLock lock(one, in(kNever));
  {
    ReadLock moved(std::move(lock));
    Writer writer(*one);
    CHECK_FALSE(writer.has_them());
    moved = ReadLock(other, in(kNever));
    writer.join();
    CHECK(moved.release() == Outcome::kUnchanged);
  }
  (void)other->data();
}

TEST_CASE("a writer does not wait beyond the lock's time, and the reader learns that it came", "[device]") {
  const auto storage = Storage::allocate(100);
  ReadLock lock(storage, in(milliseconds(10)));
  (void)storage->data();  // comes back, though nobody releases the lock
  CHECK(lock.release() == Outcome::kMayHaveChanged);
  ReadLock next(storage, in(kNever));
  CHECK(next.release() == Outcome::kUnchanged);
}

TEST_CASE("a lock whose time has passed is whole if no writer came", "[device]") {
  const auto storage = Storage::allocate(100);
  ReadLock lock(storage, in(-milliseconds(1)));
  CHECK(lock.release() == Outcome::kUnchanged);
}

TEST_CASE("a lock keeps its storage alive", "[device]") {
  auto storage = Storage::allocate(100);
  const std::weak_ptr<Storage> watch = storage;
  ReadLock lock(std::move(storage), in(kNever));
  CHECK_FALSE(watch.expired());
  (void)lock.release();
  CHECK(watch.expired());
}
