#pragma once
/// @file
/// Products of tiles by Hopper's instructions, right and wrong.
#include <cuda_bf16.h>

namespace lockstep::emulator::test {

/// The mistake of a kernel.
enum class Mistake {
  kNone,
  kNoWait,              ///< Nobody waits for the tiles.
  kWrongPhase,          ///< The wait is for the phase before.
  kParityNeverFlipped,  ///< In the second round the wait is for the first's tiles.
  kOneThreadWaits,      ///< And nothing tells the others.
  kTooFewBytes,         ///< The barrier is told of fewer bytes than come.
  kTooManyBytes,        ///< Or of more.
  kTwoArrivals,         ///< One more than it was initialised for.
  kNoInit,              ///< The barrier is not initialised.
  kNoFenceAfterInit,    ///< Copies may not see that it is.
  kMisalignedTile,      ///< 512 bytes too far.
  kNoFenceAfterStores,  ///< Ordinary stores wrote a tile.
  kNoProductFence,      ///< Sums were written before the product.
  kCopyOverTile,        ///< The next copy comes before the product is done.
  kStoreOverTile,       ///< So do ordinary stores.
  kSumsTooEarly,        ///< They are used before the wait.
  kReleasedTooEarly,    ///< Others may overwrite the tiles before the product is done.
};

/// Arguments of the kernels, in device memory.
struct TileProduct {
  float* c;                ///< [64, 128]
  const __nv_bfloat16* a;  ///< [64, 64 rounds]
  const __nv_bfloat16* b;  ///< [128, 64 rounds]
  int rounds;
};

inline namespace checked {

/// c = a b^T; the tiles of a round are copied, waited for and multiplied before the next round's.
void in_turns(Mistake mistake, const TileProduct& product);
/// The same for one round, from tiles that the threads wrote by ordinary stores.
void from_stores(Mistake mistake, const TileProduct& product);
/// The same with a warp that copies and a warpgroup that multiplies, and barriers in both directions.
void two_roles(Mistake mistake, const TileProduct& product);

}  // namespace checked

}  // namespace lockstep::emulator::test
