#include "emulator/engine/warpgroup_products.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/bfloat16.hpp"
#include "base/text.hpp"

namespace lockstep::emulator {

namespace {

constexpr std::uint32_t kWarpgroup = 128;

float value_at(const TileSlice& slice, std::size_t row, std::size_t column) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, slice.element(row, column), sizeof bits);
  return to_float(BFloat16{bits});
}

bool overlap(const std::byte* one, std::size_t one_bytes, const std::byte* other, std::size_t other_bytes) {
  return one < other + other_bytes && other < one + one_bytes;
}

ThreadPlace place_in(const ThreadState& thread, SourcePlace at, const char* doing) {
  return {thread.thread_idx, at, doing};
}

}  // namespace

void WarpgroupProducts::begin_block() { by_thread_.clear(); }

WarpgroupProducts::Thread& WarpgroupProducts::of_current() {
  if (by_thread_.empty()) by_thread_.resize(threads_.states().size());
  return by_thread_[threads_.current_state().linear];
}

void WarpgroupProducts::report(EngineFindingKind kind, std::string message, ThreadPlace first,
                               std::optional<ThreadPlace> second) {
  EngineFinding finding{kind, std::move(message), first.place, {std::move(first)}, false};
  if (second) finding.threads.push_back(*std::move(second));
  kernel_.report(finding);
}

/// Sums leave the thread's registers when their first product starts.
WarpgroupProducts::Sums& WarpgroupProducts::sums_of(Thread& own, float* d, SourcePlace at) {
  const auto known = std::ranges::find(own.sums, d, &Sums::d);
  if (known != own.sums.end()) return *known;
  if (!own.is_fenced) {
    report(EngineFindingKind::kMissingFence,
           "no wgmma.fence lies between the last use of the sums and the product that adds to them",
           place_in(threads_.current_state(), at, "wgmma"));
  }
  Sums& added = own.sums.emplace_back();
  added.d = d;
  std::copy_n(d, kSums, added.values.begin());
  std::fill_n(d, kSums, std::numeric_limits<float>::quiet_NaN());
  return added;
}

void WarpgroupProducts::start(float* d, const void* a, const void* b, SourcePlace at) {
  ThreadState& thread = threads_.current_state();
  Product product{d, TileSlice(a), TileSlice(b), 0, at};
  if (!product.a.is_aligned() || !product.b.is_aligned()) {
    thread.waiting_at = at;
    kernel_.report({EngineFindingKind::kMisalignedAddress,
                    concat("wgmma reads a tile that does not begin at a multiple of ", kTileAlignment,
                           ", or a slice of it that does not begin at 0, 32, 64 or 96 bytes"),
                    at,
                    {place_in(thread, at, "runs")},
                    true});
    threads_.abandon();
  }
  Thread& own = of_current();
  ++sums_of(own, d, at).unfinished;
  product.group = own.committed;
  thread.has_unfinished_sums = true;
  if (kernel_.observer() != nullptr) {
    show_reads(product);
    const std::size_t rank = thread.linear % kWarpgroup;
    std::memcpy(product.row_of_a.data(), product.a.row_bytes(rank % kRowsOfA), kSliceBytes);
    std::memcpy(product.row_of_b.data(), product.b.row_bytes(rank), kSliceBytes);
  }
  own.products.push_back(product);
}

/// The threads of a warpgroup share the checker's work: one row of each tile.
void WarpgroupProducts::show_reads(const Product& product) {
  Observer* const observer = kernel_.observer();
  const std::size_t rank = threads_.current_state().linear % kWarpgroup;
  if (rank < kRowsOfA) observer->async_read(product.a.row_bytes(rank), kSliceBytes, product.place);
  observer->async_read(product.b.row_bytes(rank), kSliceBytes, product.place);
}

void WarpgroupProducts::check_unchanged(Product& product) {
  if (product.is_reported) return;
  const ThreadState& thread = threads_.current_state();
  const std::size_t rank = thread.linear % kWarpgroup;
  const bool is_same = std::memcmp(product.row_of_a.data(), product.a.row_bytes(rank % kRowsOfA), kSliceBytes) == 0 &&
                       std::memcmp(product.row_of_b.data(), product.b.row_bytes(rank), kSliceBytes) == 0;
  if (is_same) return show_reads(product);
  report(EngineFindingKind::kUnfinishedProduct, "a tile was changed before the wait for the product that reads it",
         place_in(thread, product.place, "wgmma"));
}

void WarpgroupProducts::wait(unsigned most_pending) {
  Thread& own = of_current();
  const auto is_pending = [&](const Product& product) { return product.group + most_pending >= own.committed; };
  const auto first_pending = std::ranges::find_if(own.products, is_pending);
  for (auto product = own.products.begin(); product != first_pending; ++product) {
    if (kernel_.observer() != nullptr) check_unchanged(*product);
    finish(own, *product);
  }
  own.products.erase(own.products.begin(), first_pending);
  threads_.current_state().has_unfinished_sums = !own.products.empty();
  own.is_fenced = own.is_fenced && !own.products.empty();
}

void WarpgroupProducts::finish(Thread& own, Product& product) {
  const auto sums = std::ranges::find(own.sums, product.d, &Sums::d);
  const std::uint32_t rank = threads_.current_state().linear % kWarpgroup;
  const std::size_t g = rank % 32 / 4, t = rank % 4, row = rank / 32 * 16 + g;
  for (std::size_t i = 0; i < kSums; ++i) {
    float& sum = sums->values[i];
    for (std::size_t k = 0; k < 16; ++k) {
      sum += value_at(product.a, row + i / 2 % 2 * 8, k) * value_at(product.b, i / 4 * 8 + 2 * t + i % 2, k);
    }
  }
  if (--sums->unfinished > 0) return;
  std::ranges::copy(sums->values, sums->d);
  own.sums.erase(sums);
}

void WarpgroupProducts::note_overwritten(const void* begin, std::size_t bytes, SourcePlace at) {
  const auto* const target = static_cast<const std::byte*>(begin);
  for (std::size_t linear = 0; linear < by_thread_.size(); ++linear) {
    for (Product& product : by_thread_[linear].products) {
      const bool is_read = overlap(target, bytes, product.a.tile(), kRowsOfA * kTileRowBytes) ||
                           overlap(target, bytes, product.b.tile(), kRowsOfB * kTileRowBytes);
      if (!is_read || std::exchange(product.is_reported, true)) continue;
      report(EngineFindingKind::kUnfinishedProduct,
             "a copy overwrites a tile before the wait for the product that reads it",
             place_in(threads_.states()[linear], product.place, "wgmma"),
             place_in(threads_.current_state(), at, "copies a tile"));
    }
  }
}

bool WarpgroupProducts::is_unfinished(const ThreadState& thread, const void* address) const {
  if (thread.linear >= by_thread_.size()) return false;
  const auto* const place = static_cast<const float*>(address);
  return std::ranges::any_of(by_thread_[thread.linear].sums,
                             [&](const Sums& sums) { return place >= sums.d && place < sums.d + kSums; });
}

}  // namespace lockstep::emulator
