// Whole tensors in a file, made of the parts that ranks hold.
#include "run/whole_tensors.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"
#include "device/storage.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using test::RankOutcome;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::size_t kWindow = 4 * kMebibyte;

// Element i is 7 i + first: none is like another.
template <typename T>
Tensor numbered(const Shape& shape, std::int64_t first) {
  const Tensor tensor = Tensor::empty(shape, dtype_of<T>);
  const auto elements = tensor.span<T>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<T>(7 * static_cast<std::int64_t>(i) + first);
  return tensor;
}

// The part of a whole tensor, copied element by element.
template <typename T>
NamedPart cut(const NamedTensor& whole, const Slice& slice, bool is_owned) {
  const auto all = whole.tensor.span<T>();
  const std::int64_t rows = slice.whole.rank() < 2 ? 1 : slice.whole[0];
  const std::int64_t row_length = rows == 0 ? 0 : slice.whole.count() / rows;
  std::vector<T> block;
  for (std::int64_t row = slice.rows.begin; row < slice.rows.end; ++row)
    for (const Range& range : slice.columns)
      for (std::int64_t column = range.begin; column < range.end; ++column)
        block.push_back(all[static_cast<std::size_t>(row * row_length + column)]);
  const std::span<const T> own(block.data() + slice.elements.begin, static_cast<std::size_t>(slice.count()));
  return {whole.name, Tensor::from(own, {slice.count()}), slice, is_owned};
}

std::vector<NamedTensor> whole_model() {
  return {{"rows", numbered<float>({7, 5}, 1)},
          {"columns", numbered<float>({6, 36}, 2)},
          {"large", numbered<std::int32_t>({1024, 3072}, 3)},  // three windows of interleaved runs
          {"run", numbered<double>({11, 3}, 4)},
          {"norm", numbered<float>({3}, 5)},
          {"nothing", Tensor::empty({0, 4})}};
}

std::vector<NamedTensor> whole_optimizer() { return {{"run.exp_avg", numbered<float>({1500001}, 6)}}; }

// The columns of one rank's heads: a third of them in each third of a row.
std::vector<Range> heads(std::int64_t row_length, int rank, int ranks) {
  const std::int64_t third = row_length / 3;
  std::vector<Range> columns;
  for (std::int64_t begin = 0; begin < row_length; begin += third)
    columns.push_back({begin + third * rank / ranks, begin + third * (rank + 1) / ranks});
  return columns;
}

// Ever longer runs; the first rank has none if there are several.
Range uneven(std::int64_t count, int rank, int ranks) {
  const std::int64_t all = ranks == 1 ? 1 : ranks * (ranks - 1) / 2;
  const std::int64_t before = ranks == 1 ? 0 : rank * (rank - 1) / 2, until = ranks == 1 ? 1 : (rank + 1) * rank / 2;
  return {count * before / all, count * until / all};
}

run::TrainingParts parts_of(int rank, int ranks) {
  const auto model = whole_model(), optimizer = whole_optimizer();
  const Slice rows = Slice::of_rows({7, 5}, {7 * rank / ranks, 7 * (rank + 1) / ranks});
  return {
      {cut<float>(model[0], rows, true), cut<float>(model[1], Slice::of_columns({6, 36}, heads(36, rank, ranks)), true),
       cut<std::int32_t>(model[2], Slice::of_columns({1024, 3072}, heads(3072, rank, ranks)), true),
       cut<double>(model[3], Slice::of({11, 3}).part(uneven(33, rank, ranks)), true),
       cut<float>(model[4], Slice::of({3}), rank == ranks - 1), cut<float>(model[5], Slice::of({0, 4}), rank == 0)},
      {cut<float>(optimizer[0], Slice::of({1500001}).part(uneven(1500001, rank, ranks)), true)}};
}

// Each rank's error; `work` gets its rank's group.
std::vector<RankOutcome> on_ranks(int world_size, const std::function<void(comm::ProcessGroup&)>& work) {
  return test::run_ranks(world_size,
                         [&](comm::JobContext job) { work(*ring::make_shared_memory_process_group(std::move(job))); });
}

void save(const run::WholeTensors& whole, const run::TrainingParts& parts, const fs::path& root, std::int64_t step) {
  whole.save(parts, [&](const checkpoint::StreamedContents& contents) {
    checkpoint::CheckpointFolder folder(root);
    (void)folder.complete(folder.begin(step, contents, {{"step", step}}));
  });
}

// The error that every rank throws when the plan is made of such parts of "w" [10].
struct Holder {
  std::int64_t begin, end;
  bool is_owned = true;
  std::int64_t whole = 10;
};
std::vector<std::string> errors_of(const std::vector<Holder>& holders) {
  std::vector<std::string> errors;
  for (const RankOutcome& outcome : on_ranks(static_cast<int>(holders.size()), [&](comm::ProcessGroup& group) {
         const Holder& own = holders[static_cast<std::size_t>(group.rank())];
         const Slice slice = Slice::of({own.whole}).part({own.begin, own.end});
         const std::vector<NamedPart> parts{{"w", Tensor::zeros({slice.count()}), slice, own.is_owned}};
         const run::PartPlan plan(parts, &group);
       }))
    errors.push_back(outcome.message());
  return errors;
}

}  // namespace

TEST_CASE("parts of several ranks make the files that one process writes, byte for byte", "[run][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const test::TemporaryFolder folder;
  (void)checkpoint::CheckpointFolder(folder / "alone").save(3, {whole_model(), whole_optimizer()}, {{"step", 3}});
  for (const RankOutcome& outcome : on_ranks(world_size, [&](comm::ProcessGroup& group) {
         const run::TrainingParts parts = parts_of(group.rank(), world_size);
         const run::WholeTensors whole(parts, &group);
         save(whole, parts, folder / "together", 3);
       }))
    REQUIRE(outcome.message() == "");
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"}) {
    INFO(name);
    const bool is_equal =
        read_file(folder / "together" / "step_00000003" / name) == read_file(folder / "alone" / "step_00000003" / name);
    CHECK(is_equal);
  }
}

TEST_CASE("ranks that name other tensors than rank 0 add them after its own", "[run][multirank]") {
  std::vector<std::string> names;
  const auto outcomes = on_ranks(3, [&](comm::ProcessGroup& group) {
    const std::vector<std::vector<std::string>> held{{"wte", "h.0"}, {}, {"h.1", "ln_f"}};
    std::vector<NamedPart> parts;
    for (const std::string& name : held[static_cast<std::size_t>(group.rank())])
      parts.push_back({name, Tensor::zeros({2}), Slice::of({2})});
    const run::PartPlan plan(parts, &group);
    if (group.rank() != 1) return;
    for (const run::PartPlan::Whole& tensor : plan.tensors()) names.push_back(tensor.name);
  });
  for (const RankOutcome& outcome : outcomes) REQUIRE(outcome.message() == "");
  CHECK(names == std::vector<std::string>{"wte", "h.0", "h.1", "ln_f"});
}

TEST_CASE("every element has one owner, or all ranks say which has none or two", "[run][multirank]") {
  const auto is_said_by_all = [](const std::vector<std::string>& errors, const std::string& text) {
    return std::ranges::all_of(errors, [&](const std::string& error) { return error.find(text) != std::string::npos; });
  };
  CHECK(errors_of({{0, 4}, {4, 10}}) == std::vector<std::string>{"", ""});
  CHECK(errors_of({{4, 10}, {4, 4}, {0, 4}}) == std::vector<std::string>{"", "", ""});
  CHECK(errors_of({{0, 10}, {0, 10, false}}) == std::vector<std::string>{"", ""});
  CHECK(
      is_said_by_all(errors_of({{0, 4}, {5, 10}}), "w [10] do not make a whole: elements [4, 5) are owned by no rank"));
  CHECK(is_said_by_all(errors_of({{0, 4}, {4, 9}}), "elements [9, 10) are owned by no rank"));
  CHECK(is_said_by_all(errors_of({{1, 4}, {4, 10}}), "elements [0, 1) are owned by no rank"));
  CHECK(is_said_by_all(errors_of({{0, 5}, {4, 10}}), "elements [4, 5) are owned by rank 0 and by rank 1"));
  CHECK(is_said_by_all(errors_of({{0, 10}, {2, 4}, {6, 8}}), "elements [2, 4) are owned by rank 0 and by rank 1"));
  CHECK(is_said_by_all(errors_of({{0, 10, false}, {0, 10, false}}), "elements [0, 10) are owned by no rank"));
  CHECK(is_said_by_all(errors_of({{0, 5}, {5, 11, true, 11}}), "w is float32 [11] on rank 1 and float32 [10]"));
}

TEST_CASE("a rank whose parts have changed since the ranks agreed is told so", "[run]") {
  const auto part = [](Range range) -> run::TrainingParts {
    return {{{"w", Tensor::zeros({range.count()}), Slice::of({10}).part(range)}}, {}};
  };
  const run::PartPlan plan(part({0, 10}).model, nullptr);
  CHECK_NOTHROW(plan.arranged(part({0, 10}).model));
  CHECK_THROWS_WITH(plan.arranged(part({0, 9}).model), ContainsSubstring("the part of w is no longer the one"));
  CHECK_THROWS_WITH(plan.arranged({}), ContainsSubstring("the part of w is no longer the one"));
}

TEST_CASE("rank 0 needs two windows of memory, however large a tensor is", "[run][multirank]") {
  const test::TemporaryFolder folder;
  constexpr std::int64_t kCount = 8 * kMebibyte;  // 32 MiB
  std::size_t before = 0, peak = 0;
  for (const RankOutcome& outcome : on_ranks(3, [&](comm::ProcessGroup& group) {
         const Slice own = Slice::of({kCount}).part({kCount * group.rank() / 3, kCount * (group.rank() + 1) / 3});
         const run::TrainingParts parts{{{"w", Tensor::zeros({own.count()}), own}}, {}};
         const run::WholeTensors whole(parts, &group);
         group.barrier().synchronize();
         if (group.rank() == 0) {
           reset_peak();
           before = allocator_statistics().bytes_in_use;
         }
         group.barrier().synchronize();
         save(whole, parts, folder / "run", 1);
         if (group.rank() == 0) peak = allocator_statistics().peak_bytes_in_use;
       }))
    REQUIRE(outcome.message() == "");
  CHECK(peak - before >= kWindow);
  CHECK(peak - before <= 2 * kWindow + 64 * 1024);
}

TEST_CASE("a full disk on rank 0 is the error of all ranks, and the last checkpoint stays", "[run][multirank]") {
  const test::TemporaryFolder folder;
  const auto outcomes = on_ranks(3, [&](comm::ProcessGroup& group) {
    const run::TrainingParts parts = parts_of(group.rank(), 3);
    const run::WholeTensors whole(parts, &group);
    save(whole, parts, folder / "run", 1);
    group.barrier().synchronize();
    if (group.rank() == 0) fault::arm(fault::Kind::kDiskFull);
    save(whole, parts, folder / "run", 2);
    group.barrier().synchronize();
  });
  CHECK(outcomes[0].is<IoError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("No space left on device"));
  for (const int rank : {1, 2}) {
    CHECK(outcomes[static_cast<std::size_t>(rank)].is<PeerFailedError>());
    CHECK_THAT(outcomes[static_cast<std::size_t>(rank)].message(),
               ContainsSubstring("rank 0 could not save") && ContainsSubstring("No space left on device"));
  }
  const checkpoint::CheckpointFolder run(folder / "run");
  CHECK(run.latest() == folder / "run" / "step_00000001");
  CHECK_FALSE(fs::exists(folder / "run" / ".incomplete_step_00000002"));
}

TEST_CASE("a rank that is gone in the middle of a save ends it on rank 0, and the last checkpoint stays",
          "[run][multirank]") {
  const test::TemporaryFolder folder;
  const auto outcomes = on_ranks(3, [&](comm::ProcessGroup& group) {
    const run::TrainingParts parts = parts_of(group.rank(), 3);
    const run::WholeTensors whole(parts, &group);
    save(whole, parts, folder / "run", 1);
    group.barrier().synchronize();
    if (group.rank() == 2) throw Error("rank 2 has had enough");
    save(whole, parts, folder / "run", 2);
    group.barrier().synchronize();
  });
  CHECK(outcomes[0].is<PeerFailedError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("rank 2"));
  CHECK(outcomes[1].is<PeerFailedError>());
  const checkpoint::CheckpointFolder run(folder / "run");
  CHECK(run.latest() == folder / "run" / "step_00000001");
  CHECK_FALSE(fs::exists(folder / "run" / ".incomplete_step_00000002"));
}
