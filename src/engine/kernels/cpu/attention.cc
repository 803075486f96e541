#include <ATen/native/CPUBlas.h>

#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cpu/attention_blocks.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/parallel.h"

namespace assay::engine::cpu {
namespace {

/// oneDNN's generated code: AMX tiles or AVX512_BF16, whichever the processor has.
void bf16_product(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, bool add, const void* a,
                  const void* b, float* c) {
  at::native::cpublas::brgemm(m, n, k, lda, ldb, ldc, add, static_cast<const at::BFloat16*>(a),
                              static_cast<const at::BFloat16*>(b), c, /*is_vnni=*/true);
}

/// Neighbouring query heads that share one key/value head, within one row.
struct Task {
  int64_t row;
  int64_t first_head;
  int64_t heads;
};

/// Runs body(task, scratch) for every task; a free thread takes the next one. Each task writes only its own outputs,
/// so results do not depend on which thread runs it.
template <typename Body>
void run_tasks(const std::vector<Task>& tasks, int64_t scratch_bytes, c10::Device device, const Body& body) {
  const auto threads = std::min<int64_t>(at::get_num_threads(), static_cast<int64_t>(tasks.size()));
  const at::Tensor scratch =
      at::empty({threads, round_up(scratch_bytes, 64)}, at::TensorOptions(at::kByte).device(device));
  std::atomic<size_t> next{0};
  at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      void* memory = scratch.select(0, thread).mutable_data_ptr();
      for (size_t i = next++; i < tasks.size(); i = next++) {
        body(tasks[i], memory);
      }
    }
    if (has_native_bf16_products()) {
      at::native::cpublas::brgemm_release();
    }
  });
}

/// With fewer tasks than this of a whole head group each, the groups are taken apart.
constexpr int64_t kFewTasks = 8;

/// What forward and backward share: shapes, the rotary table and where a task's tensors begin.
struct Layout {
  std::vector<int64_t> row_offsets;
  int64_t longest_row = 0;
  AttentionOptions options;
  at::Tensor cos_PD2;
  at::Tensor sin_PD2;

  int64_t heads_per_group() const { return options.query_heads / options.key_value_heads; }
  int64_t query_stride() const { return options.query_heads * options.head_dim; }
  int64_t key_stride() const { return options.key_value_heads * options.head_dim; }
  int64_t tokens() const { return row_offsets.back(); }

  int64_t group_of(const Task& task) const { return task.first_head / heads_per_group(); }
  int64_t length(int64_t row) const { return row_offsets[row + 1] - row_offsets[row]; }
  /// A function of the shapes alone, so that results do not depend on the number of threads.
  int64_t heads_per_task() const {
    const auto rows = static_cast<int64_t>(row_offsets.size()) - 1;
    return rows * options.key_value_heads < kFewTasks ? 1 : heads_per_group();
  }

  /// Longest rows first, so that the threads finish together.
  std::vector<Task> tasks() const {
    std::vector<int64_t> rows(row_offsets.size() - 1);
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
    const int64_t heads = heads_per_task();
    std::vector<Task> tasks;
    for (const int64_t row : rows) {
      for (int64_t head = 0; head < options.query_heads && length(row) > 0; head += heads) {
        tasks.push_back({row, head, heads});
      }
    }
    return tasks;
  }

  AttentionGroup group(const Task& task, void* scratch, bool bf16) const {
    return {.length = length(task.row),
            .head_dim = options.head_dim,
            .heads = task.heads,
            .causal = options.causal,
            .window = options.sliding_window,
            .scale = static_cast<float>(options.scale),
            .query_stride = query_stride(),
            .key_stride = key_stride(),
            .cosine = static_cast<const float*>(data_or_null(cos_PD2)),
            .sine = static_cast<const float*>(data_or_null(sin_PD2)),
            .bf16_product = bf16 && has_native_bf16_products() ? &bf16_product : nullptr,
            .scratch = scratch};
  }
  template <typename Byte>
  Byte* query_side(Byte* data, const Task& task, int64_t element_size) const {
    return data + (row_offsets[task.row] * query_stride() + task.first_head * options.head_dim) * element_size;
  }
  template <typename Byte>
  Byte* key_side(Byte* data, const Task& task, int64_t element_size) const {
    return data + (row_offsets[task.row] * key_stride() + group_of(task) * options.head_dim) * element_size;
  }
  /// Where a task's part of a key gradient [parts, T, K * D] begins: one part for each task of a group.
  char* key_part(char* data, const Task& task, int64_t element_size) const {
    const int64_t part = task.first_head % heads_per_group() / task.heads;
    return key_side(data, task, element_size) + part * tokens() * key_stride() * element_size;
  }
  int64_t statistics_offset(const Task& task) const { return task.first_head * tokens() + row_offsets[task.row]; }
};

const char* bytes(const at::Tensor& x) {
  return static_cast<const char*>(x.const_data_ptr());
}
char* mutable_bytes(const at::Tensor& x) {
  return static_cast<char*>(x.mutable_data_ptr());
}

void run_forward(const Layout& layout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& out, const at::Tensor& lse_NT) {
  const TypedKernels& loops = loops_for(q);
  const bool bf16 = q.scalar_type() == at::kBFloat16;
  const int64_t size = q.element_size();
  const std::vector<Task> tasks = layout.tasks();
  run_tasks(tasks, attention_forward_scratch_bytes(layout.longest_row, layout.options.head_dim), q.device(),
            [&](const Task& task, void* scratch) {
              loops.attention_forward({.group = layout.group(task, scratch, bf16),
                                       .q = layout.query_side(bytes(q), task, size),
                                       .k = layout.key_side(bytes(k), task, size),
                                       .v = layout.key_side(bytes(v), task, size),
                                       .out = layout.query_side(mutable_bytes(out), task, size),
                                       .log_sum_exp = lse_NT.mutable_data_ptr<float>() + layout.statistics_offset(task),
                                       .lse_stride = layout.tokens()});
            });
}

struct AttentionTensors {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

at::Tensor sum_of_parts(const at::Tensor& parts) {
  return parts.size(0) == 1 ? parts.squeeze(0) : parts.sum(0);
}

AttentionTensors run_backward(const Layout& layout, const AttentionTensors& in, const at::Tensor& out,
                              const at::Tensor& lse_NT, const at::Tensor& grad_out) {
  const TypedKernels& loops = loops_for(in.q);
  const bool bf16 = in.q.scalar_type() == at::kBFloat16;
  const int64_t size = in.q.element_size();
  const int64_t parts = layout.heads_per_group() / layout.heads_per_task();
  const at::Tensor grad_q = at::empty_like(in.q);
  const at::Tensor part_k = at::empty({parts, layout.tokens(), layout.key_stride()}, in.k.options());
  const at::Tensor part_v = at::empty_like(part_k);
  const std::vector<Task> tasks = layout.tasks();
  run_tasks(tasks, attention_backward_scratch_bytes(layout.longest_row, layout.options.head_dim), in.q.device(),
            [&](const Task& task, void* scratch) {
              loops.attention_backward({.group = layout.group(task, scratch, bf16),
                                        .q = layout.query_side(bytes(in.q), task, size),
                                        .k = layout.key_side(bytes(in.k), task, size),
                                        .v = layout.key_side(bytes(in.v), task, size),
                                        .out = layout.query_side(bytes(out), task, size),
                                        .grad_out = layout.query_side(bytes(grad_out), task, size),
                                        .log_sum_exp = lse_NT.const_data_ptr<float>() + layout.statistics_offset(task),
                                        .lse_stride = layout.tokens(),
                                        .grad_q = layout.query_side(mutable_bytes(grad_q), task, size),
                                        .grad_k = layout.key_part(mutable_bytes(part_k), task, size),
                                        .grad_v = layout.key_part(mutable_bytes(part_v), task, size)});
            });
  return {grad_q, sum_of_parts(part_k), sum_of_parts(part_v)};
}

/// The output and its statistics. What is kept shares memory with them, but not their place in a graph.
std::pair<at::Tensor, at::Tensor> take_or_compute(const Layout& layout, const AttentionTensors& in,
                                                  KeptAttention* kept) {
  if (kept != nullptr && kept->out_TND.defined()) {
    return {std::exchange(kept->out_TND, {}), std::exchange(kept->log_sum_exp_NT, {})};
  }
  const at::Tensor out_TND = at::empty_like(in.q);
  const at::Tensor lse_NT = at::empty({layout.options.query_heads, layout.tokens()}, in.q.options().dtype(at::kFloat));
  run_forward(layout, in.q, in.k, in.v, out_TND, lse_NT);
  if (kept != nullptr) {
    *kept = {out_TND.detach(), lse_NT};
  }
  return {out_TND, lse_NT};
}

struct BlockedAttention : torch::autograd::Function<BlockedAttention> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_TND, const at::Tensor& k_TKD,
                            const at::Tensor& v_TKD, const Layout& layout, KeptAttention* kept) {
    const AttentionTensors in{q_TND.contiguous(), k_TKD.contiguous(), v_TKD.contiguous()};
    const auto [out_TND, lse_NT] = take_or_compute(layout, in, kept);
    ctx->save_for_backward({in.q, in.k, in.v, out_TND, lse_NT, layout.cos_PD2, layout.sin_PD2});
    const AttentionOptions& o = layout.options;
    ctx->saved_data["row_offsets"] = layout.row_offsets;
    ctx->saved_data["integers"] = std::vector<int64_t>{layout.longest_row, o.query_heads,    o.key_value_heads,
                                                       o.head_dim,         o.sliding_window, o.causal ? 1 : 0};
    ctx->saved_data["scale"] = o.scale;
    return out_TND;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const std::vector<int64_t> integers = ctx->saved_data["integers"].toIntVector();
    const Layout layout{.row_offsets = ctx->saved_data["row_offsets"].toIntVector(),
                        .longest_row = integers[0],
                        .options = {.query_heads = integers[1],
                                    .key_value_heads = integers[2],
                                    .head_dim = integers[3],
                                    .scale = ctx->saved_data["scale"].toDouble(),
                                    .sliding_window = integers[4],
                                    .causal = integers[5] != 0},
                        .cos_PD2 = saved[5],
                        .sin_PD2 = saved[6]};
    const AttentionTensors result =
        run_backward(layout, {saved[0], saved[1], saved[2]}, saved[3], saved[4], grads[0].contiguous());
    return {result.q, result.k, result.v, {}, {}};
  }
};

int64_t longest(const std::vector<int64_t>& row_offsets) {
  int64_t result = 0;
  for (size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    result = std::max(result, row_offsets[row + 1] - row_offsets[row]);
  }
  return result;
}

/// The first `positions` rows of a rotary table as transformers uses them: rounded to the dtype of the model.
at::Tensor rounded_table(const at::Tensor& table_PD2, int64_t positions, at::ScalarType dtype) {
  return table_PD2.narrow(0, 0, positions).to(dtype).to(at::kFloat).contiguous();
}

}  // namespace

at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* kept) {
  Layout layout;
  layout.row_offsets = batch.row_offsets;
  layout.longest_row = longest(batch.row_offsets);
  layout.options = options;
  if (rotary != nullptr) {
    TORCH_CHECK(rotary->cos_PD2.size(0) >= layout.longest_row, "attention: a row of ", layout.longest_row,
                " tokens is longer than the rotary table of ", rotary->cos_PD2.size(0), " positions");
    layout.cos_PD2 = rounded_table(rotary->cos_PD2, layout.longest_row, q_TND.scalar_type());
    layout.sin_PD2 = rounded_table(rotary->sin_PD2, layout.longest_row, q_TND.scalar_type());
  }
  return BlockedAttention::apply(q_TND, k_TKD, v_TKD, layout, kept);
}

}  // namespace assay::engine::cpu
