// assay generate: a model's text behind a prompt, as it comes.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "data/model_catalogue.h"
#include "data/text_prompt.h"
#include "data/text_stream.h"
#include "launch/launchers.h"

namespace assay::cli {
namespace {

struct GenerateOptions {
  std::string model;
  std::string adapter;
  std::string prompt;
  job::GeneratePlan plan;  ///< with what the options ask for
  bool is_chat = false;
  bool no_cache = false;
  const CLI::Option* temperature = nullptr;
  std::vector<const CLI::Option*> draws;  ///< that say which tokens are drawn of
  std::string output;
};

/// An adapter says itself what it is.
Status TakeAdapter(const std::string& adapter, job::TunePlan& plan) {
  const std::string path = adapter + "/adapter_config.json";
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json config, ReadJsonFile(path));
  const bool is_prompt = config.is_object() && config.value("peft_type", nlohmann::json()) == "PROMPT_TUNING";
  plan.method = is_prompt ? "prompt" : "lora";
  (is_prompt ? plan.prompt.adapter_dir : plan.lora.adapter_dir) = adapter;
  return Status::Ok();
}

Result<job::GeneratePlan> MakeGeneratePlan(const GenerateOptions& options) {
  job::GeneratePlan plan = options.plan;
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, data::ResolveModel(options.model, ShareDirectory()));
  ASSAY_ASSIGN_OR_RETURN(const job::TextSample begun, data::BeginText(model, options.prompt, options.is_chat));
  plan.model_dir = model.dir;
  plan.sample.prompt_ids = begun.prompt_ids;
  plan.sample.tokenizer = begun.tokenizer;
  plan.sample.eos_ids = begun.eos_ids;
  plan.sample.seed = plan.seed;
  plan.sample.cache = !options.no_cache;
  for (const CLI::Option* draw : options.draws) {
    if (draw->count() > 0 && options.temperature->count() == 0) {
      plan.sample.temperature = 1;
    } else if (draw->count() > 0 && plan.sample.temperature == 0) {
      return Status::InvalidArgument(
          fmt::format("--temperature 0 takes the likeliest token: leave {} out", draw->get_name()));
    }
  }
  if (!options.adapter.empty()) {
    ASSAY_RETURN_IF_ERROR(TakeAdapter(options.adapter, plan));
  }
  return plan;
}

/// Follows a run: text goes to standard output as it comes, unless it is part of a result.
class TextWriter {
 public:
  TextWriter(data::TextStream stream, bool prints) : stream_(std::move(stream)), prints_(prints) {}

  void OnEvent(const job::Event& event) {
    if (const auto* generated = std::get_if<job::Generated>(&event)) {
      ids_.push_back(generated->id);
      Take(stream_.Add(static_cast<int32_t>(generated->id)));
    } else if (const auto* loaded = std::get_if<job::Loaded>(&event); loaded && loaded->weights.starts_with("random")) {
      fmt::print(stderr, "the model has no weights: they are random, and so is its text\n");
    }
  }

  /// The text as a whole. Of one that was printed the line ends.
  Result<std::string> Finish() {
    Take(stream_.Finish());
    if (prints_ && !ids_.empty()) {
      fmt::print("\n");
    }
    return status_.ok() ? Result<std::string>(text_) : status_;
  }

  const std::vector<int64_t>& ids() const { return ids_; }

 private:
  void Take(const Result<std::string>& more) {
    if (!more.ok()) {
      status_ = more.status();
      return;
    }
    text_ += *more;
    if (prints_) {
      fmt::print("{}", *more);
      std::fflush(stdout);
    }
  }

  data::TextStream stream_;
  bool prints_;
  std::vector<int64_t> ids_;
  std::string text_;
  Status status_;
};

nlohmann::json ResultJson(const job::GeneratePlan& plan, const job::RunRecord& record, const TextWriter& writer,
                          const std::string& text) {
  nlohmann::json json = {{"outcome", job::ToString(record.end)},
                         {"reason", record.reason},
                         {"plan", job::ToJson(plan)},
                         {"text", text},
                         {"ids", writer.ids()}};
  if (const auto* loaded = job::FindEvent<job::Loaded>(record)) {
    json["weights"] = loaded->weights;
  }
  if (const auto* ended = job::FindEvent<job::Ended>(record)) {
    json["stopped_by"] = ended->stopped_by;
    json["seconds"] = ended->train_runtime;
  }
  return json;
}

Status Run(const GenerateOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const job::GeneratePlan plan, MakeGeneratePlan(options));
  ASSAY_RETURN_IF_ERROR(job::CheckSample(plan.sample));
  ASSAY_RETURN_IF_ERROR(job::CheckQuantization(plan));
  ASSAY_ASSIGN_OR_RETURN(data::Tokenizer tokenizer, data::LoadTokenizerFolder(plan.sample.tokenizer));
  const std::vector<int64_t>& ids = plan.sample.prompt_ids;
  ASSAY_ASSIGN_OR_RETURN(auto stream, data::TextStream::Create(std::move(tokenizer), {ids.begin(), ids.end()}));
  const bool is_json = options.output == "json";
  TextWriter writer(std::move(stream), /*prints=*/!is_json);
  launch::LaunchOptions launch;
  launch.on_event = [&writer](const job::Event& event) { writer.OnEvent(event); };
  ASSAY_ASSIGN_OR_RETURN(const auto launcher, launch::OpenLauncher({}));
  ASSAY_ASSIGN_OR_RETURN(const job::RunRecord record, launcher->Run(plan, launch));
  ASSAY_ASSIGN_OR_RETURN(const std::string text, writer.Finish());
  if (is_json) {
    fmt::print("{}\n", DumpJson(ResultJson(plan, record, writer, text)));
  }
  return launch::EndStatus(record);
}

void AddChoice(CLI::App& app, GenerateOptions& options) {
  job::TextSample& sample = options.plan.sample;
  app.add_option("--max-new-tokens", sample.max_new_tokens, "The text ends after so many, if it does not before")
      ->check(WholeNumber(1, 1 << 20))
      ->capture_default_str();
  options.temperature =
      app.add_option("--temperature", sample.temperature,
                     "Tokens are drawn, from logits divided by it [0, or 1 with --top-k or --top-p]; 0: the likeliest "
                     "one is taken")
          ->check(NotNegative());
  options.draws = {
      app.add_option("--top-k", sample.top_k, "Of the likeliest so many; 0: of all")
          ->check(WholeNumber(0, 1 << 30))
          ->capture_default_str(),
      app.add_option("--top-p", sample.top_p, "Of the likeliest ones whose probabilities add up to so much; 1: of all")
          ->check(Number(1e-6, 1))
          ->capture_default_str()};
  app.add_option("--seed", options.plan.seed, "Of what is drawn, and of random weights")
      ->check(WholeNumber(0))
      ->capture_default_str();
  app.add_flag("--no-cache", options.no_cache, "Compute all tokens again for each one: slow; for comparisons");
}

}  // namespace

Action AddGenerate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  app.add_option("--model", options->model, "Model folder (Hugging Face layout) or a name of assay model list")
      ->required()
      ->type_name("DIR|NAME");
  app.add_option("--adapter", options->adapter, "A peft adapter folder of that model: LoRA or prompt tuning")
      ->type_name("DIR");
  app.add_option("--prompt", options->prompt, "The text that it goes on with")->required();
  app.add_flag("--chat", options->is_chat, "The text is what a user says, in the model's own chat template");
  AddChoice(app, *options);
  job::GeneratePlan& plan = options->plan;
  app.add_option("--dtype", plan.dtype, "Of parameters and activations")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}))
      ->capture_default_str();
  app.add_option("--quantize-bits", plan.quantize_bits,
                 "2, 3, 4 or 8: of the weights of the layers, rounded when they are loaded; 0: as the model has them")
      ->capture_default_str();
  app.add_option("--device", plan.device, "Where it runs")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--threads", plan.threads, "CPU threads; 0: all")->check(WholeNumber(0, 4096))->capture_default_str();
  AddOutputOption(app, options->output, {"text", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
