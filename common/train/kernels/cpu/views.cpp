#include <algorithm>
#include <array>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kPiece = 8192;  // elements per task, approximately

/// Where a row of a view begins; `row` counts the first three dimensions.
std::int64_t row_offset(const StridedView& view, std::int64_t row) {
  const std::int64_t i2 = row % view.sizes[2], i1 = row / view.sizes[2] % view.sizes[1];
  const std::int64_t i0 = row / view.sizes[2] / view.sizes[1];
  return view.offset + i0 * view.strides[0] + i1 * view.strides[1] + i2 * view.strides[2];
}

/// Runs body(row, begin, end) for pieces of rows of an index space, which all views of a call share.
template <typename Body>
void for_each_piece(const StridedView& space, const Body& body) {
  if (space.count() == 0) return;
  const std::int64_t columns = space.sizes[3], rows = space.count() / columns;
  const std::int64_t pieces = (columns + kPiece - 1) / kPiece;  // of a row
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kPiece / columns);
  parallel_blocks(rows * pieces, pieces > 1 ? 1 : rows_per_task, space.count(),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t task = begin; task < end; ++task) {
                      const std::int64_t first = task % pieces * kPiece;
                      body(task / pieces, first, std::min(columns, first + kPiece));
                    }
                  });
}

/// to[i] = from[i], or added, for `count` elements a stride apart.
template <typename S>
void copy_row(S* to, std::int64_t to_stride, Write write, const S* from, std::int64_t from_stride, std::int64_t count) {
  if (to_stride == 1 && from_stride == 1 && write == Write::kOverwrite) {
    std::copy_n(from, count, to);
  } else if (write == Write::kOverwrite) {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      S& sum = to[i * to_stride];
      sum = narrowed<S>(widened(sum) + widened(from[i * from_stride]));
    }
  }
}

/// Elements [i, i + lanes) of a row, or its only element if the stride is 0.
template <typename S, typename Lanes>
Vector<Compute<S>> load_repeated(const S* row, std::int64_t stride, std::int64_t i, Lanes lanes) {
  return stride == 0 ? Vector<Compute<S>>{} + widened(*row) : load(row + i, lanes);
}

/// out = operation(a, b), or added to out, with `a` and `b` broadcast.
template <typename S, typename Operation>
void combine(const Array& out, Write write, const ConstArray& a, const StridedView& a_view, const ConstArray& b,
             const StridedView& b_view, const Operation& operation) {
  S* const to = out.as<S>();
  const S *const left = a.as<S>(), *const right = b.as<S>();
  const std::int64_t columns = a_view.sizes[3];
  for_each_piece(a_view, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    S* const results = to + row * columns;
    const S *const x = left + row_offset(a_view, row), *const y = right + row_offset(b_view, row);
    for_each_vector<Compute<S>>(end - begin, [&](std::int64_t offset, auto lanes) {
      const std::int64_t i = begin + offset;
      const auto result =
          operation(load_repeated(x, a_view.strides[3], i, lanes), load_repeated(y, b_view.strides[3], i, lanes));
      store(results + i, write == Write::kAdd ? load(results + i, lanes) + result : result, lanes);
    });
  });
}

constexpr std::int64_t kColumns = 256;        // of one task of a sum
constexpr std::int64_t kRowsPerPartial = 64;  // elements that one partial sum covers

/// to[c] (+)= the sum over `count` rows, `stride` apart, of from[r, c]; partial sums keep rounding errors small.
template <typename S>
void sum_columns(S* to, Write write, const S* from, std::int64_t count, std::int64_t stride, std::int64_t columns) {
  using T = Compute<S>;
  std::array<T, kColumns> total{}, partial{};
  for (std::int64_t begin = 0; begin < count; begin += kRowsPerPartial) {
    partial.fill(T{0});
    for (std::int64_t row = begin; row < std::min(count, begin + kRowsPerPartial); ++row) {
      for_each_vector<T>(columns, [&, x = from + row * stride](std::int64_t c, auto lanes) {
        store(partial.data() + c, load(partial.data() + c, lanes) + load(x + c, lanes), lanes);
      });
    }
    for (std::size_t c = 0; c < partial.size(); ++c) total[c] += partial[c];
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    const T sum = total[static_cast<std::size_t>(c)];
    to[c] = narrowed<S>(write == Write::kAdd ? widened(to[c]) + sum : sum);
  }
}

/// The sum of neighbouring elements; a partial sum covers kRowsPerPartial vectors.
template <typename S>
Compute<S> sum_row(const S* from, std::int64_t count) {
  using T = Compute<S>;
  constexpr std::int64_t kBlock = kRowsPerPartial * kLanes<T>;
  T total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    Vector<T> sums{};
    for_each_vector<T>(std::min(kBlock, count - begin),
                       [&](std::int64_t i, auto lanes) { sums += load(from + begin + i, lanes); });
    total += sum_of<T>(sums);
  }
  return total;
}

}  // namespace

void copy_view(Array out, const StridedView& to, Write write, ConstArray input, const StridedView& from, Context) {
  on_storage_type(out, [&]<typename S, typename>() {
    S* const results = out.as<S>();
    const S* const values = input.as<S>();
    for_each_piece(from, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
      copy_row(results + row_offset(to, row) + begin * to.strides[3], to.strides[3], write,
               values + row_offset(from, row) + begin * from.strides[3], from.strides[3], end - begin);
    });
  });
}

void add_broadcast(Array out, ConstArray a, const StridedView& a_view, ConstArray b, const StridedView& b_view,
                   Context) {
  on_storage_type(out, [&]<typename S, typename>() {
    combine<S>(out, Write::kOverwrite, a, a_view, b, b_view, [](auto x, auto y) { return x + y; });
  });
}

void multiply(Array out, Write write, ConstArray a, const StridedView& a_view, ConstArray b, const StridedView& b_view,
              Context) {
  on_storage_type(out, [&]<typename S, typename>() {
    combine<S>(out, write, a, a_view, b, b_view, [](auto x, auto y) { return x * y; });
  });
}

void sum_axis(Array out, Write write, ConstArray input, const SumSizes& sizes, Context) {
  on_storage_type(out, [&]<typename S, typename T>() {
    S* const to = out.as<S>();
    const S* const from = input.as<S>();
    const auto [outer, count, inner] = sizes;
    if (inner == 1) {
      parallel_blocks(outer, 16, input.count(), [&, length = count](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const T sum = sum_row(from + row * length, length);
          to[row] = narrowed<S>(write == Write::kAdd ? widened(to[row]) + sum : sum);
        }
      });
      return;
    }
    const std::int64_t pieces = (sizes.inner + kColumns - 1) / kColumns;
    parallel_tasks(sizes.outer * pieces, input.count(), [&](std::int64_t task) {
      const std::int64_t block = task / pieces, first = task % pieces * kColumns;
      sum_columns(to + block * sizes.inner + first, write, from + block * sizes.count * sizes.inner + first,
                  sizes.count, sizes.inner, std::min(kColumns, sizes.inner - first));
    });
  });
}

}  // namespace lockstep::kernels::cpu
