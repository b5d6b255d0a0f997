// Large blocks begin a page, so that oneDNN's buffers leave no crumbs in the room that is kept for them.
#include "kernels/cpu/packing_room.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace lockstep;

namespace {

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kKeepsRoom = true;
#else
constexpr bool kKeepsRoom = false;
#endif

using Block = std::unique_ptr<void, decltype(&std::free)>;

Block aligned_block(std::size_t alignment, std::size_t bytes) {
  void* memory = nullptr;
  REQUIRE(::posix_memalign(&memory, alignment, bytes) == 0);
  return {memory, &std::free};
}

std::uintptr_t address_of(const Block& block) { return reinterpret_cast<std::uintptr_t>(block.get()); }

}  // namespace

TEST_CASE("a buffer takes the place of the room each time, and objects of any size leave it alone", "[kernels]") {
  if (!kKeepsRoom) test::skip("the room is for glibc without sanitizers");
  std::vector<Block> small;
  std::vector<std::uintptr_t> places;
  places.reserve(200);
  small.reserve(1200);
  for (int product = 0; product < 200; ++product) {
    {  // The sizes of oneDNN's buffers: products of small, one thread.
      const kernels::PackingRoom room;
      void* buffer = nullptr;
      (void)::posix_memalign(&buffer, 128, product % 2 == 0 ? 8'816'320 : 3'000'000);
      places.push_back(reinterpret_cast<std::uintptr_t>(buffer));
      std::free(buffer);
    }
    // Who asks for little between products: what glibc gives back of a block must not be what it gets.
    for (const std::size_t bytes : {24U, 150U, 160U, 300U, 700U, 1000U})
      small.emplace_back(std::malloc(bytes), &std::free);
  }
  const std::set<std::uintptr_t> different(places.begin(), places.end());
  CHECK(different.size() == 1);
}

TEST_CASE("blocks have the alignment that they are asked for, and large ones a page's", "[kernels]") {
  if (!kKeepsRoom) test::skip("the room is for glibc without sanitizers");
  for (const std::size_t alignment : {8U, 64U, 128U, 4096U, 65536U}) {
    CHECK(address_of(aligned_block(alignment, 100)) % alignment == 0);
    CHECK(address_of(aligned_block(alignment, 1 << 20)) % std::max<std::size_t>(alignment, 4096) == 0);
  }
  void* memory = nullptr;
  for (const std::size_t wrong : {0U, 4U, 24U, 129U}) CHECK(::posix_memalign(&memory, wrong, 100) == EINVAL);
  CHECK(::posix_memalign(&memory, 64, SIZE_MAX / 2) == ENOMEM);
}
