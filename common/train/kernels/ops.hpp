#pragma once
/// @file
/// Every operation used by the models, one signature each for all devices.
///
/// Common rules:
/// - Outputs come first. They are allocated by the caller and may not overlap inputs unless a function says so.
/// - Tensors are float32 or float64 (the same in one call; float64 is for gradient checks and is not fast), token ids
///   int32. A tensor of rank above 2 counts as a matrix [rows, last dimension] if a matrix is expected.
/// - Activations and their gradients may be bfloat16 unless a description excludes it. Then the weight matrix of a
///   product is bfloat16 too, and everything else (other parameters, gradients of parameters, statistics, losses) is
///   float32: accumulation_dtype(). Arithmetic is float32; a result is rounded once, when it is stored.
/// - On devices, everything said of bfloat16 holds for float16 too; results beyond 65504 become infinite. On the CPU
///   only cast() and copy() take float16; other operations throw a ContractError that says so.
/// - A shape, type or device that does not fit is a ContractError that names the operation and the shapes.
/// - Tensors of one call are on one device. Operations on a device run on the current stream of the thread and return
///   before they are done; those that return a number block until it is there. float64 is for the CPU only. If a token
///   or target in device memory is out of range, the next operation that returns a number throws a ContractError.
/// - Results repeat bit for bit for one build, machine and number of threads. All operations except those built on
///   oneDNN's or Eigen's matrix products also do not depend on the number of threads: work is divided into blocks of
///   fixed size and partial sums are added in block order.
/// - At most omp_get_max_threads() threads work. Nothing is allocated per call except from the caching allocator.
/// - NaN and infinity propagate.
///
/// Letters in shapes: B samples, T positions, C channels, H heads, V vocabulary, M N K sizes of a matrix product.
#include "kernels/attention.hpp"
#include "kernels/dropout.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/loss.hpp"
#include "kernels/matmul.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softmax.hpp"
#include "kernels/types.hpp"
#include "kernels/views.hpp"
