#include "checkpoint/tensor_files.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/raw_safetensors.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using test::bytes_from;
using test::RawTensor;
using test::write_raw;

namespace {

const RawTensor kA{"a", "F32", "[2]", bytes_from<float>({1, 2})};
const RawTensor kB{"b", "F32", "[1]", bytes_from<float>({3})};

void write_index(const std::filesystem::path& path, const std::string& map) {
  write_file(path, concat(R"({"metadata":{"total_size":12},"weight_map":)", map, "}"));
}

}  // namespace

TEST_CASE("half precision, bfloat16 and truth values are read as types that hold them", "[checkpoint]") {
  const test::TemporaryFolder folder;
  write_raw(folder / "x.safetensors",
            {{"half", "F16", "[3]", bytes_from<std::uint16_t>({0x3C00, 0xC000, 0x3555})},  // 1, -2, 1365 / 4096
             {"brain", "BF16", "[2]", bytes_from<std::uint16_t>({0x3F80, 0xC040})},        // 1, -3
             {"mask", "BOOL", "[1,1,2,2]", std::string("\1\0\1\1", 4)},
             {"single", "F32", "[1]", bytes_from<float>({0.1F})}});
  const TensorFiles files(folder / "x.safetensors");
  const Tensor half = Tensor::empty({3}), brain = Tensor::empty({2}), mask = Tensor::empty({1, 1, 2, 2}, DType::kUInt8);
  files.read_into("half", half);
  files.read_into("brain", brain);
  files.read_into("mask", mask);
  CHECK(half.span<float>()[0] == 1);
  CHECK(half.span<float>()[1] == -2);
  CHECK(half.span<float>()[2] == 1365.0F / 4096);
  CHECK(brain.span<float>()[1] == -3);
  CHECK(mask.span<std::uint8_t>()[1] == 0);
  CHECK(mask.span<std::uint8_t>()[3] == 1);

  const Tensor wide = Tensor::empty({3}, DType::kFloat64), single = Tensor::empty({1}, DType::kFloat64);
  files.read_into("half", wide);
  files.read_into("single", single);
  CHECK(wide.span<double>()[2] == 1365.0 / 4096);
  CHECK(single.span<double>()[0] == static_cast<double>(0.1F));

  const SafetensorsFile file(folder / "x.safetensors");
  CHECK(file.read("half").dtype() == DType::kFloat16);
  CHECK(file.read("brain").dtype() == DType::kBFloat16);
  CHECK(file.read("mask").dtype() == DType::kUInt8);
}

TEST_CASE("what would lose digits is refused, and so is another shape", "[checkpoint]") {
  const test::TemporaryFolder folder;
  write_raw(folder / "x.safetensors", {{"w", "F64", "[1]", bytes_from<double>({0.1})}, kB});
  const TensorFiles files(folder / "x.safetensors");
  CHECK_THROWS_WITH(files.read_into("w", Tensor::empty({1})),
                    ContainsSubstring("tensor w is float64 [1], expected float32 [1]"));
  CHECK_THROWS_WITH(files.read_into("b", Tensor::empty({1}, DType::kBFloat16)), ContainsSubstring("expected bfloat16"));
  CHECK_THROWS_WITH(files.read_into("b", Tensor::empty({1}, DType::kInt32)), ContainsSubstring("expected int32"));
  CHECK_THROWS_WITH(files.read_into("b", Tensor::empty({1, 1})), ContainsSubstring("expected float32 [1, 1]"));
  CHECK_THROWS_WITH(files.read_into("none", Tensor::empty({1})), ContainsSubstring("no tensor none"));
}

TEST_CASE("a folder's one file, or its shards by their index", "[checkpoint]") {
  const test::TemporaryFolder folder;
  write_raw(folder / "model-00001-of-00002.safetensors", {kA});
  write_raw(folder / "model-00002-of-00002.safetensors", {kB});
  write_index(folder / kShardIndexFile,
              R"({"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"})");
  {
    const TensorFiles shards(folder.path());
    CHECK(shards.file_count() == 2);
    CHECK(shards.names() == std::vector<std::string>{"a", "b"});
    const Tensor a = Tensor::empty({2});
    shards.read_into("a", a);
    CHECK(a.span<float>()[1] == 2);
    CHECK(shards.find("b")->shape == Shape{1});
    CHECK(shards.find("c") == nullptr);
  }
  write_raw(folder / "model.safetensors", {kB});  // goes before an index, as with Hugging Face
  CHECK(TensorFiles(folder.path()).names() == std::vector<std::string>{"b"});
  CHECK(TensorFiles(folder / kShardIndexFile).file_count() == 2);
}

TEST_CASE("an index that does not fit its shards is refused with the reason", "[checkpoint]") {
  const test::TemporaryFolder folder;
  write_raw(folder / "1.safetensors", {kA});
  write_raw(folder / "2.safetensors", {kB});
  write_raw(folder / "3.safetensors", {kA});
  const auto refuse = [&](const std::string& map) {
    write_index(folder / kShardIndexFile, map);
    try {
      const TensorFiles files(folder.path());
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(refuse(R"({"a":"1.safetensors","b":"2.safetensors"})").empty());
  CHECK_THAT(refuse(R"({"a":"1.safetensors","b":"4.safetensors"})"), ContainsSubstring("4.safetensors"));
  CHECK_THAT(refuse(R"({"a":"2.safetensors"})"), ContainsSubstring("tensor a is in 2.safetensors, where it is not"));
  CHECK_THAT(refuse(R"({"a":"1.safetensors","b":"3.safetensors"})"), ContainsSubstring("tensor a is both in"));
  CHECK_THAT(refuse(R"({"a":"../1.safetensors"})"), ContainsSubstring("not the name of a file beside it"));
  CHECK_THAT(refuse(R"({"a":7})"), ContainsSubstring("not the name of a file beside it"));
  CHECK_THAT(refuse("{}"), ContainsSubstring("lists no tensors"));
  CHECK_THAT(refuse("[]"), ContainsSubstring("no object \"weight_map\""));
}

TEST_CASE("a folder without safetensors files says what it has", "[checkpoint]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(TensorFiles(folder.path()), ContainsSubstring("neither model.safetensors nor"));
  write_file(folder / "pytorch_model.bin", "x");
  CHECK_THROWS_WITH(TensorFiles(folder.path()), ContainsSubstring("safe_serialization=True"));
}
