#include "09_sharded/setup.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "06_gpt_ddp/ddp/setup.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "run/option_parser.hpp"

namespace lockstep::sharded {
namespace {

// With --zero 0 the program of chapter 06, beside this one, takes over this process.
int become_train_gpt_ddp(int argc, const char* const* argv) {
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "train_gpt_ddp").string();
  std::vector<std::string> arguments{program};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--zero") ++i;
    if (!argument.starts_with("--zero")) arguments.push_back(argument);
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw IoError(concat("--zero 0 is the program ", program, ", which does not start: ./lockstep run 06 builds it"),
                errno);
}

}  // namespace

run::OptionList list_options(Options& options) {
  return run::join({run::list_options(static_cast<run::TrainOptions&>(options)),
                    {{.field = &options.zero,
                      .name = "--zero",
                      .help = "Stage of ZeRO: 1 divides the optimizer's state among the ranks, 2 the gradients too, "
                              "3 the weights too; 0: none, as train_gpt_ddp",
                      .kind = run::OptionKind::kLayout},
                     {.field = &options.no_prefetch,
                      .name = "--no-prefetch",
                      .help = "With --zero 3: gather weights when they are needed, not in advance",
                      .kind = run::OptionKind::kLayout}}});
}

void complete(Options& options, const CommandLine& line) {
  run::complete(static_cast<run::TrainOptions&>(options), line);
  if (options.zero < 0 || options.zero > 3)
    throw UsageError(concat("--zero ", options.zero, ": ZeRO has the stages 1, 2 and 3; 0 divides nothing"));
  if (options.no_prefetch && options.zero != 3)
    throw UsageError("--no-prefetch is for --zero 3: the other stages keep all weights");
  if (options.zero == 0) return;  // the options are those of train_gpt_ddp
  if (options.zero > 1 && options.uneven && options.accumulation_steps > 1)
    throw UsageError(concat("--uneven with --accumulation-steps and --zero ", options.zero,
                            ": ranks could have different numbers of micro-batches, and each of them is reduced; "
                            "take --zero 1"));
  if (options.parallel.no_sync)
    throw UsageError(
        "--no-sync is for train_gpt_ddp: without an exchange a rank would update a part of its model only");
  if (options.parallel.compress_gradients != "no")
    throw UsageError("--compress-gradients is for train_gpt_ddp: a reduce-scatter sends float32");
}

nn::InitScope init_scope(std::uint64_t seed, int rank, Device device) {
  return ddp::init_scope(seed, rank, device).deferred();
}

ShardOptions shard_options(const Options& options) {
  return {.stage = static_cast<int>(options.zero), .prefetch = !options.no_prefetch};
}

int run_training(int argc, const char* const* argv, const std::function<int(const Options&)>& train) noexcept {
  const std::function<int(const Options&)> run = [&](const Options& options) {
    return options.zero == 0 ? become_train_gpt_ddp(argc, argv) : train(options);
  };
  Options defaults;
  defaults.device.name = run::launched_device(std::move(defaults.device.name));
  return run::run_training(argc, argv, "Trains a GPT on a text, with its state divided among the ranks", defaults, run);
}

void show_sample(run::Run& run, ShardedDataParallel& model, const std::function<std::string()>& generate) {
  const auto in_step = model.in_step();
  run.show_sample(generate, model.options().stage == 3 ? run::SampleRanks::kAll : run::SampleRanks::kMain);
}

std::vector<NamedPart> parts_of(const ShardedDataParallel& model, int rank) {
  std::map<std::string, NamedPart> shards;
  for (const nn::NamedParameter& named : model.shards().named_parameters())
    shards[named.name] = {named.name, named.parameter.value(), named.slice, named.is_owned};
  std::vector<NamedPart> parts;
  for (const nn::NamedParameter& whole : model.module().named_parameters()) {
    const auto shard = shards.find(whole.name);
    parts.push_back(shard == shards.end()
                        ? NamedPart{whole.name, whole.parameter.value(), whole.slice, rank == 0 && whole.is_owned}
                        : shard->second);
  }
  for (const nn::NamedBuffer& buffer : model.module().named_buffers())
    parts.push_back({buffer.name, buffer.value, Slice::of(buffer.value.shape()), rank == 0});
  return parts;
}

void resume(run::Run& run, ShardedDataParallel& model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  run.resume(parts_of(model, run.ranks().rank()), optimizer, sampler);
  if (run.options().resume) model.gather_values();
}

void save(run::Run& run, const ShardedDataParallel& model, const optim::Optimizer& optimizer,
          const data::Sampler& sampler) {
  run.save(parts_of(model, run.ranks().rank()), optimizer, sampler);
}

}  // namespace lockstep::sharded
