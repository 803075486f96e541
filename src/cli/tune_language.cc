// assay tune of a language model: its options, and its plan made ready.
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/tune_kinds.h"
#include "cli/tune_shards.h"
#include "data/hold_out.h"
#include "data/model_catalogue.h"
#include "data/prepare.h"
#include "data/prompt_text.h"
#include "data/text_prompt.h"

namespace assay::cli {
namespace {

Status CheckSettings(const LanguageOptions& options, const std::string& method,
                     const std::vector<const CLI::Option*>& settings) {
  for (const CLI::Option* setting : settings) {
    if (setting->count() > 0 && options.plan.method != method) {
      return Status::InvalidArgument(
          fmt::format("{0} goes with --method {1}: add it, or leave {0} out", setting->get_name(), method));
    }
    if (setting->count() > 0 && options.adapter->count() > 0) {
      return Status::InvalidArgument(
          fmt::format("{0} is what the adapter in {1} says itself: leave {0} out, or start without --adapter",
                      setting->get_name(), options.adapter_dir));
    }
  }
  return Status::Ok();
}

/// What was asked for and would not be done is a mistake.
Status CheckAdapterOptions(const LanguageOptions& options, const CLI::Option& max_shard_mib) {
  const bool full = options.plan.method == "full";
  if (!full && max_shard_mib.count() > 0) {
    return Status::InvalidArgument("--max-shard-mib goes with --method full: an adapter is one file; leave it out");
  }
  if (full && options.adapter->count() > 0) {
    return Status::InvalidArgument("--adapter goes with --method lora or prompt: add one, or leave --adapter out");
  }
  ASSAY_RETURN_IF_ERROR(CheckSettings(options, "lora", options.lora_settings));
  return CheckSettings(options, "prompt", options.prompt_settings);
}

Status CompleteAdapter(const TuneOptions& options, const data::ModelRef& model, job::TunePlan& plan) {
  const LanguageOptions& own = options.language;
  plan.lora.target_modules =
      own.target_modules.empty() ? data::DefaultLoraTargets(options.model) : Split(own.target_modules, ',');
  (plan.method == "prompt" ? plan.prompt.adapter_dir : plan.lora.adapter_dir) = own.adapter_dir;
  if (plan.method == "prompt" && !plan.prompt.init_text.empty()) {
    plan.prompt.init = "text";
    ASSAY_ASSIGN_OR_RETURN(plan.prompt.init_ids, data::TokenizePromptText(model, plan.prompt.init_text));
  }
  return Status::Ok();
}

data::DataSpec RowsOf(const TuneOptions& options, const std::string& data, const data::ModelRef& model,
                      const job::TunePlan& plan) {
  data::DataSpec spec;
  spec.data = data;
  spec.tokenizer_dir = model.tokenizer_dir;
  spec.no_tokenizer = model.no_tokenizer;
  spec.response_template = options.language.response_template;
  spec.max_length = plan.model_max_length;
  spec.model_vocab_size = model.vocab_size;
  return spec;
}

/// What was asked for and would not be done is a mistake.
Status CheckEvaluationOptions(const TuneOptions& options) {
  const LanguageOptions& own = options.language;
  if (own.eval_share > 0 && NamesShards(options.data)) {
    return Status::InvalidArgument(
        "--eval-share holds out rows of a file, not of a data set of shards: give --eval-data FILE");
  }
  if (own.eval_share > 0 || !own.eval_data.empty()) {
    return Status::Ok();
  }
  for (const CLI::Option* setting : own.eval_settings) {
    if (setting->count() > 0) {
      return Status::InvalidArgument(
          fmt::format("{0} goes with rows to evaluate on: add --eval-data FILE or --eval-share SHARE, or leave {0} out",
                      setting->get_name()));
    }
  }
  return Status::Ok();
}

/// Takes the share of the rows that is to be held out from those that are trained on.
Status HoldOutShare(const LanguageOptions& options, job::TunePlan& plan) {
  if (options.eval_share == 0) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const data::HeldOut files, data::HoldOutRows(plan.tokens_file, options.eval_share, plan.seed));
  plan.tokens_file = files.train_file;
  plan.eval_tokens_file = files.held_out_file;
  return Status::Ok();
}

/// Of the text that is made before and after.
Status CompleteSample(const LanguageOptions& options, const data::ModelRef& model, job::TunePlan& plan) {
  if (options.sample_prompt.empty()) {
    return Status::Ok();
  }
  const int64_t max_new_tokens = plan.sample.max_new_tokens;
  ASSAY_ASSIGN_OR_RETURN(plan.sample, data::BeginText(model, options.sample_prompt, /*is_chat=*/false));
  plan.sample.max_new_tokens = max_new_tokens;
  return Status::Ok();
}

/// Makes the rows ready and says what about them will not be trained on.
Status CompleteRows(const TuneOptions& options, const data::ModelRef& model, LiveProgress& progress,
                    job::TunePlan& plan) {
  if (options.data.empty()) {
    return Status::InvalidArgument("there is no data: give --data FILE, or the ID of a built-in data set");
  }
  progress.OnPhase("preparing " + options.data);
  if (NamesShards(options.data)) {
    if (plan.packing) {
      return Status::InvalidArgument("--packing packs rows of a file, not of a data set of shards: leave it out");
    }
    plan.response_template = options.language.response_template;
    return StreamShards(options.data, model, plan);
  }
  ASSAY_RETURN_IF_ERROR(CheckNoShards(plan));
  ASSAY_ASSIGN_OR_RETURN(const data::PreparedTokens tokens,
                         data::PrepareTokens(RowsOf(options, options.data, model, plan)));
  plan.tokens_file = tokens.tokens_file;
  plan.tokenizer = tokens.tokenizer;
  if (tokens.unsupervised_rows > 0) {
    progress.Print(
        fmt::format("{} of {} rows bear no loss at {} tokens: their responses are cut away (raise --model-max-length)",
                    tokens.unsupervised_rows, tokens.rows, plan.model_max_length));
  }
  return HoldOutShare(options.language, plan);
}

/// Rows in a file of their own that are evaluated on, and what is asked of evaluations.
Status CompleteEvaluation(const TuneOptions& options, const data::ModelRef& model, LiveProgress& progress,
                          job::TunePlan& plan) {
  if (!options.language.eval_data.empty()) {
    progress.OnPhase("preparing " + options.language.eval_data);
    ASSAY_ASSIGN_OR_RETURN(const data::PreparedTokens tokens,
                           data::PrepareTokens(RowsOf(options, options.language.eval_data, model, plan)));
    plan.eval_tokens_file = tokens.tokens_file;
  }
  if (plan.eval_tokens_file.empty()) {
    return Status::Ok();
  }
  plan.keep_best_by = "eval_loss";
  return job::CheckEvaluation(plan);
}

void AddEvaluationOptions(CLI::App& app, LanguageOptions& options) {
  CLI::Option* data =
      app.add_option("--eval-data", options.eval_data,
                     "Rows that are evaluated on, a file or an id as of --data: their loss and perplexity")
          ->type_name("FILE|ID");
  app.add_option("--eval-share", options.eval_share,
                 "Or this share of the rows of --data, drawn by --seed, which are not trained on then")
      ->check(Number(0, 0.99))
      ->excludes(data);
  options.eval_settings = {
      app.add_option("--eval-every", options.plan.eval_every,
                     "Steps from one evaluation to the next; one more comes after the last step; 0: that alone")
          ->check(WholeNumber(0))
          ->capture_default_str(),
      app.add_option("--early-stopping", options.plan.early_stopping,
                     "End when so many evaluations in a row were no better than the best; 0: never")
          ->check(WholeNumber(0))
          ->capture_default_str()};
}

void AddMethodOptions(CLI::App& app, LanguageOptions& options) {
  app.add_option(
         "--quantize-bits", options.plan.quantize_bits,
         "2, 3, 4 or 8: of the frozen weights of the layers, rounded to the nearest values when they are loaded; "
         "0: as the model has them")
      ->capture_default_str();
  job::LoraOptions& lora = options.plan.lora;
  app.add_option("--method", options.plan.method, "What is trained")
      ->check(CLI::IsMember({"full", "lora", "prompt"}))
      ->capture_default_str();
  options.lora_settings = {
      app.add_option("--lora-rank", lora.rank, "Rank of the update")
          ->check(WholeNumber(1, 65536))
          ->capture_default_str(),
      app.add_option("--lora-alpha", lora.alpha, "The update is scaled by alpha / rank")
          ->check(NotNegative())
          ->capture_default_str(),
      app.add_option("--lora-dropout", lora.dropout, "Dropout on the update's input")
          ->check(Number(0, 0.99))
          ->capture_default_str(),
      app.add_flag("--use-dora", lora.use_dora,
                   "DoRA: the lengths of the weight's rows are trained apart from their directions"),
      app.add_flag("--use-rslora", lora.use_rslora, "rsLoRA: the update is scaled by alpha / sqrt(rank)"),
      app.add_option("--target-modules", options.target_modules,
                     "Modules that get an update, comma separated, as peft names them [q_proj,v_proj]")
          ->check([](const std::string& text) { return text.empty() ? "names no module" : ""; })
          ->type_name("A,B")};
  job::PromptOptions& prompt = options.plan.prompt;
  options.prompt_settings = {
      app.add_option("--prompt-length", prompt.length, "Trained embeddings before each row")
          ->check(WholeNumber(1, 65536))
          ->capture_default_str(),
      app.add_option("--prompt-text", prompt.init_text,
                     "They start as the embeddings of this text, cut or repeated to their number [drawn from N(0, 1)]")
          ->type_name("TEXT")};
  options.adapter =
      app.add_option("--adapter", options.adapter_dir, "Start from this peft adapter folder")->type_name("DIR");
}

}  // namespace

Status CompletePlan(const TuneOptions& options, LiveProgress& progress, job::TunePlan& plan) {
  const LanguageOptions& own = options.language;
  ASSAY_RETURN_IF_ERROR(CheckAdapterOptions(own, *options.max_shard_mib));
  ASSAY_RETURN_IF_ERROR(CheckEvaluationOptions(options));
  ASSAY_RETURN_IF_ERROR(CompleteShared(options, plan));
  ASSAY_RETURN_IF_ERROR(job::CheckQuantization(plan));
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, data::ResolveModel(options.model, ShareDirectory()));
  plan.model_dir = model.dir;
  ASSAY_RETURN_IF_ERROR(CompleteAdapter(options, model, plan));
  ASSAY_RETURN_IF_ERROR(CompleteSample(own, model, plan));
  ASSAY_RETURN_IF_ERROR(job::CheckParallel(plan));
  ASSAY_RETURN_IF_ERROR(CompleteRows(options, model, progress, plan));
  return CompleteEvaluation(options, model, progress, plan);
}

Status CompleteSaved(const job::TunePlan& plan, const job::RunRecord& record) {
  const auto* saved = job::FindEvent<job::Saved>(record);
  if (saved == nullptr || plan.method != "full" || plan.tokenizer.empty()) {
    return Status::Ok();
  }
  // Beside the weights that were trained on its ids: another one's would mean nothing to them.
  return data::CopyTokenizer(plan.tokenizer, saved->path);
}

void AddLanguageOptions(CLI::App& app, TuneOptions& options) {
  job::TunePlan& plan = options.language.plan;
  app.add_option("--response-template", options.language.response_template,
                 "In {\"output\"} rows everything up to and including it bears no loss")
      ->type_name("TEXT");
  app.add_option("--model-max-length", plan.model_max_length, "Rows are cut to so many tokens")
      ->check(WholeNumber(1, 131072))
      ->capture_default_str();
  app.add_flag(
      "--packing", plan.packing,
      "--batch-size counts packs of rows that have up to --model-max-length tokens together; rows of a pack do "
      "not see each other");
  app.add_option("--dtype", plan.dtype, "Of parameters and activations")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}))
      ->capture_default_str();
  app.add_option("--loss-scale", plan.loss_scale,
                 "Of float16: auto (adapted when gradients overflow; off in other dtypes), off, or a number to stay at")
      ->type_name("auto|off|N")
      ->check([](const std::string& text) { return job::LossScale(text).status().message(); })
      ->capture_default_str();
  app.add_option("--label-smoothing", plan.label_smoothing,
                 "Share of each target's probability that is spread over the whole vocabulary")
      ->check(Number(0, 1))
      ->capture_default_str();
  app.add_option(
         "--neftune-noise-alpha", plan.neftune_noise_alpha,
         "NEFTune: uniform noise of at most this / sqrt(tokens of the row x features) on its embeddings; 0: none")
      ->check(NotNegative())
      ->capture_default_str();
  AddEvaluationOptions(app, options.language);
  app.add_option("--sample-prompt", options.language.sample_prompt,
                 "The model goes on with this text before the training and after it, by its likeliest tokens")
      ->type_name("TEXT");
  app.add_option("--sample-tokens", plan.sample.max_new_tokens, "Tokens of that text at most")
      ->check(WholeNumber(1, 1 << 20))
      ->capture_default_str();
  AddMethodOptions(app, options.language);
}

}  // namespace assay::cli
