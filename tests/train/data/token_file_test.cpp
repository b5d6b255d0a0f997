#include "data/token_file.hpp"

#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"
#include "data/data_loader.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::data;
namespace fs = std::filesystem;

namespace {

std::vector<std::int32_t> counting(std::int32_t count) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < count; ++i) ids.push_back(i);
  return ids;
}

// A header of `numbers`, then `token_bytes` zeros.
std::string file_of(std::vector<std::uint32_t> numbers, std::size_t token_bytes) {
  numbers.resize(256);
  std::string bytes;
  for (const std::uint32_t number : numbers)
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xFF);
  return bytes + std::string(token_bytes, '\0');
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a token file has llm.c's bytes", "[data][tokens]") {
  const test::TemporaryFolder folder;
  const std::vector<std::int32_t> ids{1, 258, 65535};
  write_token_file(folder / "a.bin", ids);
  std::string expected = file_of({20240520, 1, 3}, 0);
  expected += std::string("\x01\x00\x02\x01\xFF\xFF", 6);
  CHECK(read_file(folder / "a.bin") == expected);
  const std::vector<std::int32_t> large{65536}, negative{-1}, none;
  CHECK_THROWS_AS(write_token_file(folder / "b.bin", large), FormatError);
  CHECK_THROWS_AS(write_token_file(folder / "b.bin", negative), FormatError);
  CHECK_THROWS_AS(write_token_file(folder / "b.bin", none), FormatError);
  CHECK_FALSE(fs::exists(folder / "b.bin"));
}

TEST_CASE("a token file that cannot be put in its place leaves nothing beside it", "[data][tokens]") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a.bin/in_the_way");
  const auto write = [&] { write_token_file(folder / "a.bin", counting(10)); };
  CHECK_THROWS_AS(write(), IoError);
  CHECK_THAT(message_of(write), ContainsSubstring("cannot replace " + (folder / "a.bin").string() + " with") &&
                                    ContainsSubstring("name another file): Is a directory"));
  using Entries = std::filesystem::directory_iterator;
  CHECK(std::distance(Entries(folder.path()), Entries()) == 1);
}

TEST_CASE("windows of a token file are those of the same tokens in memory", "[data][tokens]") {
  const test::TemporaryFolder folder;
  write_token_file(folder / "a.bin", counting(1000));
  const auto file = std::make_shared<const TokenFile>(folder / "a.bin");
  CHECK(file->token_count() == 1000);
  const TokenFileDataset dataset(file,
                                 {.first_token = 100, .token_count = 50, .context_length = 7, .vocabulary_size = 1000});
  CHECK(dataset.size() == 7);  // 49 targets
  const std::vector<std::int64_t> indices{6, 0, 3, 3};
  const Batch batch = dataset.batch(indices);
  for (std::size_t row = 0; row < indices.size(); ++row) {
    for (std::size_t t = 0; t < 7; ++t) {
      CHECK(batch.inputs.span<std::int32_t>()[row * 7 + t] == 100 + indices[row] * 7 + static_cast<std::int64_t>(t));
      CHECK(batch.targets.span<std::int32_t>()[row * 7 + t] == 101 + indices[row] * 7 + static_cast<std::int64_t>(t));
    }
  }
  CHECK_THROWS_AS(TokenFileDataset(file, {.first_token = 0, .token_count = 7, .context_length = 7}), FormatError);
  CHECK_THROWS_AS(TokenFileDataset(file, {.first_token = 999, .token_count = 2, .context_length = 1}), ContractError);
}

TEST_CASE("a token file that is none, of another kind, cut off, empty, a folder or missing is named with the reason",
          "[data][tokens]") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "bad.bin";
  const auto reason = [&](const std::string& bytes) {
    write_file(path, bytes);
    return message_of([&] { TokenFile file(path); });
  };
  using Numbers = std::vector<std::uint32_t>;
  CHECK_THAT(reason(""), ContainsSubstring("bad.bin has 0 bytes, fewer than the 1024"));
  CHECK_THAT(reason("a short text"), ContainsSubstring("has 12 bytes"));
  CHECK_THAT(reason(file_of(Numbers{1, 1, 4}, 8)), ContainsSubstring("begins with 1 instead of 20240520"));
  CHECK_THAT(reason(file_of(Numbers{20240801, 7, 4}, 16)), ContainsSubstring("tokens of four bytes"));
  CHECK_THAT(reason(file_of(Numbers{20240520, 2, 4}, 8)), ContainsSubstring("version 2"));
  CHECK_THAT(reason(file_of(Numbers{20240520, 1, 0}, 8)), ContainsSubstring("it has 0 tokens"));
  CHECK_THAT(reason(file_of(Numbers{20240520, 1, 0xFFFFFFFF}, 8)), ContainsSubstring("it has -1 tokens"));
  CHECK_THAT(reason(file_of(Numbers{20240520, 1, 4}, 6)), ContainsSubstring("has 1030 bytes") &&
                                                              ContainsSubstring("4 tokens, which is 1032") &&
                                                              ContainsSubstring("lockstep data tokens"));
  CHECK(reason(file_of(Numbers{20240520, 1, 4}, 8)).empty());
  CHECK_THAT(message_of([&] { TokenFile file(folder.path()); }), ContainsSubstring("is a folder"));
  CHECK_THAT(message_of([&] { TokenFile file(folder / "none.bin"); }),
             ContainsSubstring("none.bin") && ContainsSubstring("No such file"));
}

TEST_CASE("a file cut short, rewritten or unknown to the model while in use ends the iteration with its reason",
          "[data][tokens]") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "a.bin";
  write_token_file(path, counting(10'001));
  const auto file = std::make_shared<const TokenFile>(path);
  const int workers = GENERATE(1, 4);
  const auto iterate = [&](std::int64_t vocabulary_size, const std::function<void()>& damage) {
    const TokenFileDataset dataset(file,
                                   {.token_count = 10'001, .context_length = 10, .vocabulary_size = vocabulary_size});
    SequentialSampler sampler(dataset.size());
    DataLoader loader(dataset, sampler, {.batch_size = 10, .prefetch_batches = 4, .num_workers = workers});
    std::int64_t batches = 0;
    const std::string message = message_of([&] {
      for (const Batch& batch : loader) {
        batches += batch.size() == 10 ? 1 : 0;
        if (batches == 2) damage();
      }
    });
    return std::pair(batches, message);
  };
  const auto [all, no_message] = iterate(20'000, [] {});
  CHECK(all == 100);
  CHECK(no_message.empty());

  // Ids from 5000 on stand behind 1024 + 2 * 5000 bytes.
  const auto [known, unknown] = iterate(5000, [] {});
  CHECK(known == 49);  // the last target of batch 49 (from 0) is 5000
  CHECK_THAT(unknown, ContainsSubstring("a.bin has the token 5000 at offset 11024") &&
                          ContainsSubstring("vocabulary has 5000") && ContainsSubstring("--vocabulary-size"));

  const auto [seen, cut] = iterate(20'000, [&] { fs::resize_file(path, 3000); });
  CHECK(seen < 100);
  CHECK_THAT(cut, ContainsSubstring("a.bin has changed") && ContainsSubstring("21026 bytes then, 3000 now") &&
                      ContainsSubstring("offset"));
  fs::remove(path);
  CHECK_THAT(iterate(20'000, [] {}).second, ContainsSubstring("has changed"));  // still cut, though it has no name
}

TEST_CASE("a file that is removed while in use is read to its end", "[data][tokens]") {
  const test::TemporaryFolder folder;
  write_token_file(folder / "a.bin", counting(101));
  const auto file = std::make_shared<const TokenFile>(folder / "a.bin");
  fs::remove(folder / "a.bin");
  std::vector<std::uint16_t> tokens(101);
  file->read(0, tokens);
  CHECK(tokens.back() == 100);
}

TEST_CASE("a file that is only touched while in use is read on, one that is written over is not", "[data][tokens]") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "a.bin";
  write_token_file(path, counting(5000));
  const TokenFile file(path);
  std::vector<std::uint16_t> tokens(10);
  const auto touch = [&](int hours) {
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::hours(hours));
  };
  touch(1);
  CHECK_NOTHROW(file.read(0, tokens));
  write_file(path, read_file(path));  // a backup that is copied back
  touch(-5);
  CHECK_NOTHROW(file.read(4990, tokens));
  CHECK(tokens.back() == 4999);
  std::string bytes = read_file(path);
  bytes[1024 + 2 * 2500] ^= 1;  // between the blocks of 4096 bytes that a sample would look at, too
  write_file(path, bytes);
  touch(2);
  CHECK_THROWS_WITH(file.read(0, tokens), ContainsSubstring("a.bin has changed since it was opened"));
}

TEST_CASE("the fingerprint sees every byte of a large file, and neither its name nor its time", "[data][tokens]") {
  const test::TemporaryFolder folder;
  std::string bytes(2'000'000, 'x');
  write_file(folder / "a", bytes);
  fs::create_directories(folder / "elsewhere");
  fs::copy(folder / "a", folder / "elsewhere/b");
  fs::last_write_time(folder / "elsewhere/b", fs::file_time_type::clock::now() - std::chrono::hours(48));
  const std::string of_bytes = file_fingerprint(folder / "a");
  CHECK(file_fingerprint(folder / "elsewhere/b") == of_bytes);
  int seen = 0, sampled = 0;
  const std::string sample = sampled_fingerprint(folder / "a");
  for (const std::size_t at : {0UL, 5000UL, 20'000UL, 777'777UL, 1'048'576UL, 1'999'999UL}) {
    std::string other = bytes;
    other[at] = 'y';
    write_file(folder / "c", other);
    seen += file_fingerprint(folder / "c") != of_bytes ? 1 : 0;
    sampled += sampled_fingerprint(folder / "c") != sample ? 1 : 0;
  }
  CHECK(seen == 6);
  CHECK(sampled < 6);  // what runs of earlier versions have recorded
}

TEST_CASE("the fingerprint tells files apart, small ones byte by byte", "[data][tokens]") {
  const test::TemporaryFolder folder;
  const auto fingerprint = [&](const std::string& bytes) {
    write_file(folder / "f", bytes);
    return file_fingerprint(folder / "f");
  };
  std::string bytes(10'000, 'x');
  const std::string of_bytes = fingerprint(bytes);
  CHECK(fingerprint(bytes) == of_bytes);
  CHECK(fingerprint(bytes + "x") != of_bytes);
  bytes[9'999] = 'y';
  CHECK(fingerprint(bytes) != of_bytes);
  const std::string large(1'000'000, 'x');
  CHECK(fingerprint(large) != fingerprint(large + "x"));
}
