#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/event_list.h"
#include "cli/tune_result_parts.h"
#include "data/text_stream.h"

namespace assay::cli {
namespace {

struct Tokens {
  int64_t real = 0;
  int64_t padded = 0;
  int64_t supervised = 0;
};

Tokens TokensOf(const std::vector<job::Step>& steps) {
  Tokens tokens;
  for (const job::Step& step : steps) {
    tokens.real += step.real_tokens;
    tokens.padded += step.padded_tokens;
    tokens.supervised += step.supervised_tokens;
  }
  return tokens;
}

/// The texts of a training's samples, by when they were made; none where it has none, or its tokeniser is gone.
std::map<std::string, std::string> SamplesOf(const job::TunePlan& plan, const job::RunRecord& record) {
  std::map<std::string, std::vector<int64_t>> ids;
  for (const job::Generated& token : job::EventsOf<job::Generated>(record)) {
    ids[token.when].push_back(token.id);
  }
  std::map<std::string, std::string> texts;
  if (ids.empty()) {
    return texts;
  }
  const auto tokenizer = data::LoadTokenizerFolder(plan.sample.tokenizer);
  for (const auto& [when, of_text] : ids) {
    if (tokenizer.ok()) {
      const auto text = data::TextBehind(*tokenizer, plan.sample.prompt_ids, of_text);
      texts[when] = text.ok() ? *text : text.status().message();
    }
  }
  return texts;
}

/// Empty without any.
std::string EvaluationTable(const job::RunRecord& record) {
  const auto evaluations = job::EventsOf<job::HeldOutLoss>(record);
  if (evaluations.empty()) {
    return "";
  }
  TextTable table({"step", "held-out loss", "perplexity", "rows", "tokens", "time"});
  for (const job::HeldOutLoss& evaluation : evaluations) {
    table.AddRow({std::to_string(evaluation.step), fmt::format("{:.4f}", evaluation.loss),
                  FormatNumber(evaluation.perplexity), std::to_string(evaluation.rows),
                  std::to_string(evaluation.tokens), FormatSeconds(evaluation.seconds)});
  }
  return '\n' + table.Render();
}

/// That of before comes first.
std::string SampleTexts(const job::TunePlan& plan, const job::RunRecord& record) {
  std::string texts;
  for (const auto& [when, text] : SamplesOf(plan, record)) {
    texts = fmt::format("\nsample {} the training:\n{}\n", when, text) + texts;
  }
  return texts;
}

}  // namespace

void AddToJson(const job::TunePlan& plan, const job::RunRecord& record, nlohmann::json& json) {
  const std::vector<job::Step> steps = job::Steps(record);
  const Tokens tokens = TokensOf(steps);
  json["method"] = plan.method;
  json["tokenizer"] = plan.tokenizer;
  json["dtype"] = plan.dtype;
  json["real_tokens"] = tokens.real;
  json["padded_tokens"] = tokens.padded;
  json["supervised_tokens"] = tokens.supervised;
  json["real_tokens_per_second"] = PerSecond(tokens.real, steps);
  json["evaluations"] = EventList<job::HeldOutLoss>(record);
  if (const auto samples = SamplesOf(plan, record); !samples.empty()) {
    json["samples"] = samples;
  }
  if (!plan.data_uri.empty()) {
    json["data"] = StreamedDataJson(plan, record);
    json["data"]["real_tokens_per_second_without_stalls"] = PerSecondWithoutStalls(tokens.real, record);
  }
}

void AddModelRows(const job::TunePlan& plan, const job::Loaded& loaded, TextTable& table) {
  table.AddRow({"method", plan.method});
  table.AddRow({"tokenizer", plan.tokenizer.empty() ? "none: the rows are token ids" : plan.tokenizer});
  table.AddRow({"parameters", fmt::format("{}, {} trained", loaded.parameters, loaded.trainable_parameters)});
}

void AddStepRows(const job::TunePlan&, const std::vector<job::Step>& steps, TextTable& table) {
  const Tokens tokens = TokensOf(steps);
  table.AddRow({"throughput", fmt::format("{} real tokens/s", FormatNumber(PerSecond(tokens.real, steps)))});
  table.AddRow({"tokens", fmt::format("{} real, {} supervised; a padded batch would have added {}", tokens.real,
                                      tokens.supervised, tokens.padded)});
}

std::string MoreTables(const job::TunePlan& plan, const job::RunRecord& record) {
  return EvaluationTable(record) + SampleTexts(plan, record);
}

}  // namespace assay::cli
