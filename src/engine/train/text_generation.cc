#include "engine/train/text_generation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "architecture/parameters.h"
#include "engine/model/status_error.h"
#include "engine/train/batch.h"

namespace assay::engine {
namespace {

/// -infinity for all but the likeliest `count`, and what is as likely as the last of these.
at::Tensor keep_likeliest(const at::Tensor& scores_V, int64_t count) {
  const at::Tensor best_K = std::get<0>(at::topk(scores_V, std::min(count, scores_V.size(0))));
  return scores_V.masked_fill(scores_V.lt(best_K[-1]), -INFINITY);
}

/// The same for the least likely, of which the sum stays below 1 - share; the likeliest one stays in any case.
at::Tensor keep_share(const at::Tensor& scores_V, double share) {
  const auto [ascending_V, order_V] = at::sort(scores_V);
  at::Tensor is_left_out_V = at::softmax(ascending_V, -1).cumsum(-1).le(1 - share);
  is_left_out_V.narrow(0, is_left_out_V.size(0) - 1, 1).fill_(false);
  return scores_V.masked_fill(is_left_out_V.scatter(0, order_V, is_left_out_V), -INFINITY);
}

class Text {
 public:
  Text(CausalLM& model, const job::TextSample& sample, c10::Device device)
      : model_(model), sample_(sample), device_(device), ids_(sample.prompt_ids.begin(), sample.prompt_ids.end()) {
    if (model.prompt_PH().defined()) {
      prompt_length_ = model.prompt_PH().size(0);
    }
  }

  at::Tensor next_logits() {
    if (!sample_.cache) {
      return model_.next_logits(whole(), nullptr);
    }
    return model_.next_logits(cache_.tokens == 0 ? whole() : last(), &cache_);
  }

  void append(int64_t id) { ids_.push_back(static_cast<int32_t>(id)); }

 private:
  PackedBatch whole() const {
    const std::vector<int32_t> labels(ids_.size(), data::kMaskedLabel);
    const data::TokenRowView row{ids_, labels, 0};
    const PackOptions options{.vocab_size = model_.vocab_size(), .device = device_, .prompt_length = prompt_length_};
    return pack_rows({&row, 1}, options);
  }

  PackedBatch last() const {
    const auto of_device = at::TensorOptions(device_);
    return {.ids_T = at::full({1}, ids_.back(), of_device.dtype(at::kLong)),
            .positions_T = at::full({1}, cache_.tokens, of_device.dtype(at::kLong)),
            .row_offsets_R1 = at::arange(2, of_device.dtype(at::kInt)),
            .row_offsets = {0, 1},
            .longest_row = cache_.tokens + 1};
  }

  CausalLM& model_;
  const job::TextSample& sample_;
  c10::Device device_;
  std::vector<int32_t> ids_;
  int64_t prompt_length_ = 0;
  DecodingCache cache_;
};

/// A model with learned positions has none beyond them.
void check_positions(const CausalLM& model, const job::TextSample& sample, int64_t prompt_length) {
  const int64_t longest = prompt_length + static_cast<int64_t>(sample.prompt_ids.size()) + sample.max_new_tokens - 1;
  if (architecture::LearnsPositions(model.config()) && longest > model.config().max_positions) {
    throw_invalid_argument(fmt::format(
        "the prompt has {} tokens and {} are to follow, but the model has learned only {} positions (take fewer)",
        sample.prompt_ids.size(), sample.max_new_tokens, model.config().max_positions));
  }
}

/// Dropout off, and on again where the model trains on.
class WithoutDropout {
 public:
  explicit WithoutDropout(CausalLM& model) : model_(model) { model_.set_training(false); }
  WithoutDropout(const WithoutDropout&) = delete;
  ~WithoutDropout() { model_.set_training(true); }

 private:
  CausalLM& model_;
};

}  // namespace

int64_t choose_token(const at::Tensor& logits_V, const job::TextSample& sample, at::Generator& generator) {
  at::Tensor scores_V = logits_V.to(at::kCPU, at::kFloat);
  if (sample.temperature > 0) {
    scores_V = scores_V / sample.temperature;
  }
  if (!scores_V.isfinite().all().item<bool>()) {
    throw_invalid_argument(
        "the model's logits are not finite: take bfloat16 or float32 for it, a higher temperature, or other weights");
  }
  if (sample.temperature == 0) {
    return scores_V.argmax().item<int64_t>();
  }
  if (sample.top_k > 0) {
    scores_V = keep_likeliest(scores_V, sample.top_k);
  }
  if (sample.top_p < 1) {
    scores_V = keep_share(scores_V, sample.top_p);
  }
  return at::multinomial(at::softmax(scores_V, -1), 1, /*replacement=*/false, generator).item<int64_t>();
}

bool generate_text(CausalLM& model, const job::TextSample& sample, c10::Device device,
                   const std::function<void(int64_t)>& tell) {
  throw_if_error(job::CheckSample(sample));
  check_positions(model, sample, model.prompt_PH().defined() ? model.prompt_PH().size(0) : 0);
  const at::NoGradGuard no_grad;
  const WithoutDropout without_dropout(model);
  at::Generator generator = at::detail::createCPUGenerator(sample.seed);
  Text text(model, sample, device);
  for (int64_t i = 0; i < sample.max_new_tokens; ++i) {
    const int64_t id = choose_token(text.next_logits(), sample, generator);
    tell(id);
    if (std::ranges::find(sample.eos_ids, id) != sample.eos_ids.end()) {
      return true;
    }
    text.append(id);
  }
  return false;
}

}  // namespace assay::engine
