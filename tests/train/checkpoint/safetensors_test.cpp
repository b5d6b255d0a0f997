#include "checkpoint/safetensors.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/tensor_files.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;

namespace {

// A file with this header and so many bytes of data.
std::string make_file(const std::string& header, std::size_t data_bytes) {
  std::string bytes(8, '\0');
  const std::uint64_t header_bytes = header.size();
  std::memcpy(bytes.data(), &header_bytes, 8);
  return bytes + header + std::string(data_bytes, '\1');
}

// The message with which a file is refused; empty if it is accepted.
std::string refusal_of_file(const std::string& bytes) {
  const test::TemporaryFolder folder;
  write_file(folder / "x.safetensors", bytes);
  try {
    const SafetensorsFile file(folder / "x.safetensors");
    return "";
  } catch (const FormatError& error) {
    const std::string message = error.what(), prefix = (folder / "x.safetensors").string() + ": ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : "does not name the file: " + message;
  }
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape, int begin, int end) {
  return concat('"', name, R"(":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":[)", begin, ',', end,
                "]}");
}

}  // namespace

TEST_CASE("every element type, shape and metadata reads back as written", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const Tensor ids = Tensor::from(std::span<const std::int64_t>(std::vector<std::int64_t>{-1, 1LL << 40}), {2});
  const Tensor bytes = Tensor::from(std::span<const std::uint8_t>(std::vector<std::uint8_t>{1, 2, 3}), {3, 1});
  const Tensor scalar = Tensor::from(std::span<const double>(std::vector<double>{0.1}), {});
  const Tensor weights = Tensor::from(std::span<const float>(std::vector<float>{1, 2, 3, 4, 5, 6}), {1, 2, 3});
  const Tensor empty = Tensor::zeros({0, 4}), brain = Tensor::zeros({3}, DType::kBFloat16);
  const Tensor half = Tensor::from(std::span<const Float16>(std::vector<Float16>{{0x3555}, {0x8001}, {0x7C00}}), {3});
  const std::vector<NamedTensor> tensors = {{"bytes", bytes}, {"ids", ids},     {"empty", empty},    {"scalar", scalar},
                                            {"half", half},   {"brain", brain}, {"weights", weights}};
  write_safetensors(folder / "x", tensors, {{"format", "pt"}, {"quote", "a \"b\""}});
  const SafetensorsFile file(folder / "x");
  CHECK(file.metadata() == Metadata{{"format", "pt"}, {"quote", "a \"b\""}});
  CHECK(file.entries().size() == 7);
  CHECK(name_of(file.find("half")->type) == "F16");
  for (const auto& [name, original] : tensors) {
    const Tensor copy = file.read(name);
    CHECK(copy.shape() == original.shape());
    CHECK(copy.dtype() == original.dtype());
    CHECK((original.count() == 0 ||
           std::memcmp(copy.data(), original.data(), static_cast<std::size_t>(original.bytes())) == 0));
  }
}

TEST_CASE("the bytes of a file are those of the format's description", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const Tensor weight = Tensor::from(std::span<const float>(std::vector<float>{1.0F, -2.0F}), {2, 1});
  const std::vector<NamedTensor> tensors = {{"w", weight}};
  write_safetensors(folder / "x", tensors);
  const std::string header = R"({"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  std::string expected = make_file(padded, 0);
  expected += std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);  // 1 and -2 in IEEE 754, lowest byte first
  CHECK(read_file(folder / "x") == expected);
}

TEST_CASE("a file of another writer is read: any order, unaligned data, spaces", "[checkpoint]") {
  const std::string header = "{" + tensor("b", "F32", "[1]", 1, 5) + ", " + tensor("a", "U8", "[1]", 0, 1) + "}  ";
  CHECK(refusal_of_file(make_file(header, 5)).empty());
  CHECK(refusal_of_file(make_file("{}", 0)).empty());
  CHECK(refusal_of_file(make_file(R"({"__metadata__":{"k":"v"}})", 0)).empty());
  CHECK(
      refusal_of_file(make_file("{" + tensor("a", "F32", "[0]", 0, 0) + "," + tensor("b", "F32", "[]", 0, 4) + "}", 4))
          .empty());
}

TEST_CASE("a file that is no safetensors file is refused with the reason", "[checkpoint]") {
  CHECK_THAT(refusal_of_file(""), ContainsSubstring("has 0 bytes"));
  CHECK_THAT(refusal_of_file("1234567"), ContainsSubstring("has 7 bytes"));
  CHECK_THAT(refusal_of_file(make_file("{}", 0).replace(0, 1, "\x03")),
             ContainsSubstring("claims a header of 3 bytes, but only 2"));
  CHECK_THAT(refusal_of_file(std::string(8, '\xff') + "{}"), ContainsSubstring("more than the 100000000 allowed"));
  CHECK_THAT(refusal_of_file(make_file("", 0)), ContainsSubstring("does not begin with '{'"));
  CHECK_THAT(refusal_of_file(make_file("[]", 0)), ContainsSubstring("does not begin with '{'"));
  CHECK_THAT(refusal_of_file(make_file("{\"a\"", 0)), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal_of_file(make_file("{} {}", 0)), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal_of_file(make_file("{\"\xff\":1}", 0)), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal_of_file(make_file(R"({"__metadata__":[]})", 0)),
             ContainsSubstring("__metadata__ is not an object"));
  CHECK_THAT(refusal_of_file(make_file(R"({"__metadata__":{"k":1}})", 0)),
             ContainsSubstring("entry k is not a string"));
}

TEST_CASE("a tensor whose description is wrong is refused by name", "[checkpoint]") {
  const auto refuse = [](const std::string& entry, std::size_t data_bytes = 4) {
    return refusal_of_file(make_file("{" + entry + "}", data_bytes));
  };
  CHECK(refuse(tensor("w", "F32", "[1]", 0, 4)).empty());
  CHECK_THAT(refuse(tensor("w", "F4", "[8]", 0, 4)),
             ContainsSubstring("tensor w: type \"F4\" is not one of F64, F32, F16"));
  CHECK_THAT(refuse(tensor("w", "F32", "[2]", 0, 4)), ContainsSubstring("takes 8 bytes, data_offsets give 4"));
  CHECK_THAT(refuse(tensor("w", "F32", "[-1]", 0, 4)), ContainsSubstring("tensor w: shape [-1] has a wrong number"));
  CHECK_THAT(refuse(tensor("w", "F32", "[1.5]", 0, 4)), ContainsSubstring("has a wrong number"));
  CHECK_THAT(refuse(tensor("w", "F32", "1", 0, 4)), ContainsSubstring("shape is not a list"));
  CHECK_THAT(refuse(tensor("w", "F32", "[1,1,1,1,1]", 0, 4)), ContainsSubstring("5 dimensions"));
  CHECK_THAT(refuse(tensor("w", "F32", "[4294967296,4294967296,4294967296]", 0, 4)),
             ContainsSubstring("too many elements"));
  CHECK_THAT(refuse(tensor("w", "F32", "[9223372036854775809]", 0, 4)), ContainsSubstring("too many elements"));
  CHECK_THAT(refuse(tensor("w", "F32", "[1]", 4, 0)), ContainsSubstring("are not a begin and an end"));
  CHECK_THAT(refuse(R"("w":{"dtype":"F32","shape":[1]})"), ContainsSubstring("expected exactly dtype, shape"));
  CHECK_THAT(refuse(R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":1})"),
             ContainsSubstring("expected exactly"));
  CHECK_THAT(refuse(R"("w":7)"), ContainsSubstring("expected exactly"));
  CHECK_THAT(refuse(R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})"),
             ContainsSubstring("data_offsets [0,4,4]"));
  CHECK_THAT(refuse(tensor("w", "F32", "[1]", 0, 4) + "," + tensor("w", "F32", "[1]", 4, 8), 8),
             ContainsSubstring("names w twice"));
}

TEST_CASE("tensors that overlap, leave gaps or do not fill the file are refused", "[checkpoint]") {
  const auto refuse = [](int begin, int end, std::size_t data_bytes) {
    return refusal_of_file(make_file(
        "{" + tensor("a", "U8", "[4]", 0, 4) + "," + tensor("b", "U8", concat('[', end - begin, ']'), begin, end) + "}",
        data_bytes));
  };
  CHECK(refuse(4, 8, 8).empty());
  CHECK_THAT(refuse(3, 7, 7), ContainsSubstring("tensor b: begins at byte 3 where byte 4 is expected (it overlaps"));
  CHECK_THAT(refuse(5, 9, 9), ContainsSubstring("tensor b: begins at byte 5 where byte 4 is expected (a gap)"));
  CHECK_THAT(refuse(4, 8, 7), ContainsSubstring("holds 7 bytes of data, its header describes 8"));
  CHECK_THAT(refuse(4, 8, 9), ContainsSubstring("holds 9 bytes of data, its header describes 8"));
}

TEST_CASE("loading lists missing and unexpected names and writes nothing then", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const Tensor one = Tensor::from(std::span<const float>(std::vector<float>{1}), {1});
  write_safetensors(folder / "x", std::vector<NamedTensor>{{"a", one}, {"b", one}, {"c", one}});
  const SafetensorsFile file(folder / "x");
  const Tensor a = Tensor::zeros({1}), b = Tensor::zeros({1});
  const std::vector<NamedTensor> too_few = {{"a", a}, {"b", b}}, too_many = {{"a", a}, {"d", b}, {"e", b}};
  CHECK_THROWS_WITH(load_tensors(file, too_few), ContainsSubstring("1 tensors are not expected: c"));
  CHECK_THROWS_WITH(load_tensors(file, too_many), ContainsSubstring("2 tensors are missing: d, e"));
  CHECK(a.item() == 0);
  load_tensors(file, too_few, UnexpectedTensors::kIgnore);
  CHECK(a.item() == 1);
  CHECK_THROWS_WITH(file.read_into("a", Tensor::zeros({1}, DType::kFloat64)),
                    ContainsSubstring("tensor a is float32 [1], expected float64 [1]"));
  CHECK_THROWS_WITH(file.read("z"), ContainsSubstring("no tensor z"));
}

TEST_CASE("names with \"module.\" before them are told from names that are nowhere", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const Tensor one = Tensor::zeros({1});
  const std::string prefix = GENERATE("module.", "_orig_mod.", "_orig_mod.module.");
  write_safetensors(folder / "x", std::vector<NamedTensor>{{prefix + "a", one}, {prefix + "b", one}});
  const SafetensorsFile file(folder / "x");
  const std::vector<NamedTensor> unwrapped = {{"a", one}, {"b", one}}, others = {{"a", one}, {"c", one}};
  const auto hint = ContainsSubstring("saved without unwrapping it from DistributedDataParallel");
  CHECK_THROWS_WITH(load_tensors(file, unwrapped),
                    ContainsSubstring("2 tensors are missing: a, b; the file has") && hint);
  CHECK_THROWS_WITH(load_tensors(file, others), ContainsSubstring("2 tensors are missing: a, c") && !hint);
}

TEST_CASE("a file that shrinks while it is open is an error that names it, whichever way it is read", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const Tensor large = Tensor::zeros({100'000}), small = Tensor::zeros({2});
  write_safetensors(folder / "x", std::vector<NamedTensor>{{"a", small}, {"b", large}, {"c", large}});
  const SafetensorsFile file(folder / "x");
  const TensorFiles files(folder / "x");
  std::filesystem::resize_file(folder / "x", 200'000);
  const auto message = ContainsSubstring(
      (folder / "x").string() + " ends at byte 200000, and had 800208 bytes when it was opened: another program");
  CHECK_THROWS_WITH(file.read("b"), message);
  CHECK_THROWS_WITH(file.read_into("b", large), message);
  CHECK_THROWS_WITH(load_tensors(file, std::vector<NamedTensor>{{"b", large}}, UnexpectedTensors::kIgnore), message);
  CHECK_THROWS_WITH(files.read_into("b", large), message);
  CHECK_THROWS_WITH(files.read_into("b", Tensor::zeros({100'000}, DType::kFloat64)), message);
  CHECK_THROWS_WITH(files.are_equal("b", "c"), message);
  CHECK(file.read("a").span<float>()[1] == 0);  // what is left can be read
}

TEST_CASE("a file that is something else is called by its name", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& bytes) {
    write_file(folder / "m.safetensors", bytes);
    try {
      const SafetensorsFile file(folder / "m.safetensors");
      return std::string();
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
  };
  CHECK_THAT(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:1f\nsize 548105171\n"),
             ContainsSubstring("m.safetensors is a Git LFS pointer"));
  CHECK_THAT(refusal("<!doctype html><title>Sign in</title>"), ContainsSubstring("is an HTML page"));
  CHECK_THAT(refusal(std::string("PK\x03\x04\0\0\0\0\0\0", 10)), ContainsSubstring("is a zip archive"));
  CHECK_THAT(refusal(std::string("\x1F\x8B\x08\0\0\0\0\0\0", 9)), ContainsSubstring("compressed with gzip"));
  // A header of 0x088B1F bytes begins like gzip, and is none.
  CHECK(refusal(make_file("{}" + std::string(0x088B1F - 2, ' '), 0)).empty());
}

TEST_CASE("tensors of types that are not read may stand beside others", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const std::string header = "{" + tensor("mask", "I8", "[3]", 0, 3) + "," + tensor("scale", "F8_E4M3", "[5]", 3, 8) +
                             "," + tensor("w", "F32", "[1]", 8, 12) + "}";
  write_file(folder / "x", make_file(header, 12));
  const SafetensorsFile file(folder / "x");
  CHECK(file.read("w").count() == 1);
  CHECK_THROWS_WITH(file.read("mask"), ContainsSubstring("tensor mask is I8, which is not read here"));
  CHECK_THROWS_WITH(file.read_into("scale", Tensor::zeros({5}, DType::kUInt8)),
                    ContainsSubstring("tensor scale is F8_E4M3 [5], expected uint8 [5]"));
}

TEST_CASE("a name twice, or a tensor without memory, cannot be saved", "[checkpoint]") {
  const test::TemporaryFolder folder;
  const Tensor one = Tensor::zeros({1});
  CHECK_THROWS_AS(write_safetensors(folder / "x", std::vector<NamedTensor>{{"a", one}, {"a", one}}), ContractError);
  CHECK_THROWS_AS(write_safetensors(folder / "x", std::vector<NamedTensor>{{"a", Tensor()}}), ContractError);
  CHECK_THROWS_AS(write_safetensors(folder / "x", std::vector<NamedTensor>{{"__metadata__", one}}), ContractError);
  CHECK_THROWS_AS(write_safetensors(folder / "none/x", std::vector<NamedTensor>{{"a", one}}), IoError);
  CHECK_THROWS_AS(SafetensorsFile(folder / "none"), IoError);
}

TEST_CASE("a header of nothing but brackets is refused before it uses up the stack", "[checkpoint]") {
  const std::string deep = R"({"w":{"dtype":"F32","shape":)" + std::string(200'000, '[');
  CHECK_THAT(refusal_of_file(make_file(deep, 4)), ContainsSubstring("nested deeper than"));
}
