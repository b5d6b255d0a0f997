// Parts of tensors, read out of files of whole ones.
#include "checkpoint/tensor_parts.hpp"

#include <numeric>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;

namespace {

template <typename T>
Tensor counting(const Shape& shape, T first) {
  const Tensor tensor = Tensor::empty(shape, dtype_of<T>);
  std::iota(tensor.span<T>().begin(), tensor.span<T>().end(), first);
  return tensor;
}

NamedPart part_of(const std::string& name, const Slice& slice, DType dtype = DType::kFloat32) {
  return {name, Tensor::zeros(slice.shape(), dtype), slice};
}

template <typename T>
std::vector<T> elements_in(const NamedPart& part) {
  const auto elements = part.tensor.span<T>();
  return {elements.begin(), elements.end()};
}

// A file with "matrix" [4, 6] of 0, 1, 2, ..., and "vector" [5] of 100, 101, ...
class File {
 public:
  File() {
    const std::vector<NamedTensor> tensors{{"matrix", counting<float>({4, 6}, 0)},
                                           {"vector", counting<std::int32_t>({5}, 100)}};
    write_safetensors(path(), tensors);
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "a.safetensors"; }
  [[nodiscard]] std::string error_of(const std::vector<NamedPart>& parts) const {
    try {
      load_parts(SafetensorsFile(path()), parts);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a part gets its own elements of the whole: of rows, of columns, of any run", "[checkpoint]") {
  const File file;
  const std::vector<NamedPart> rows{part_of("matrix", Slice::of_rows({4, 6}, {1, 3})),
                                    part_of("vector", Slice::of({5}).part({2, 2}), DType::kInt32)};
  load_parts(SafetensorsFile(file.path()), rows);
  CHECK(elements_in<float>(rows[0]) == std::vector<float>{6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});

  const Slice columns = Slice::of_columns({4, 6}, {{4, 6}, {1, 2}});
  const std::vector<NamedPart> others{part_of("matrix", columns),
                                      part_of("vector", Slice::of({5}).part({3, 5}), DType::kInt32)};
  load_parts(SafetensorsFile(file.path()), others);
  CHECK(elements_in<float>(others[0]) == std::vector<float>{4, 5, 1, 10, 11, 7, 16, 17, 13, 22, 23, 19});
  CHECK(elements_in<std::int32_t>(others[1]) == std::vector<std::int32_t>{103, 104});

  const std::vector<NamedPart> run{part_of("matrix", columns.part({2, 7})),
                                   part_of("vector", Slice::of({5}), DType::kInt32)};
  load_parts(SafetensorsFile(file.path()), run);
  CHECK(elements_in<float>(run[0]) == std::vector<float>{1, 10, 11, 7, 16});
  CHECK(elements_in<std::int32_t>(run[1]) == std::vector<std::int32_t>{100, 101, 102, 103, 104});
}

TEST_CASE("parts are refused for what whole tensors are refused for, and nothing is written then", "[checkpoint]") {
  const File file;
  const NamedPart matrix = part_of("matrix", Slice::of_rows({4, 6}, {1, 3}));
  const NamedPart vector = part_of("vector", Slice::of({5}).part({3, 5}), DType::kInt32);
  CHECK_THAT(file.error_of({matrix, vector, part_of("more", Slice::of({2}).part({0, 0}))}),
             ContainsSubstring("1 tensors are missing: more"));
  CHECK_THAT(file.error_of({matrix}), ContainsSubstring("1 tensors are not expected: vector"));
  CHECK_THAT(file.error_of({matrix, part_of("vector", Slice::of({6}).part({3, 5}), DType::kInt32)}),
             ContainsSubstring("tensor vector is int32 [5], expected int32 [6]"));
  CHECK_THAT(file.error_of({matrix, part_of("vector", Slice::of({5}).part({3, 5}))}),
             ContainsSubstring("tensor vector is int32 [5], expected float32 [5]"));
  CHECK_THAT(file.error_of({matrix, {"vector", Tensor::zeros({3}, DType::kInt32), vector.slice}}),
             ContainsSubstring("a part of vector [5] has 3 elements, its slice 2"));
  CHECK(elements_in<float>(matrix) == std::vector<float>(12, 0));
  CHECK(file.error_of({matrix, vector}).empty());
}
