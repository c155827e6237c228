// Second-order MAML on one episode after the other: steps of gradient descent on the supports, the logits and the
// gradient of the queries, and that gradient taken back through the steps; as descent.py.
#include "../../native/processor.h"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>
FSGC_FOR_PROCESSOR
#include "passes.h"

namespace maml {

// Graphs of all episodes, those of each one after the other, and their nodes; as a GraphBatch has them.
struct Side {
    const float* inputs;
    const int64_t *codes, *starts, *edges, *sources;
    Task task;
};

// Up to so many rows go through the network together; their arrays, 30 of them, stay in the second-level cache.
constexpr int BLOCK_ROWS = 128;

// A thread keeps so much memory, in floats, between two calls.
constexpr size_t MOST_KEPT = 1 << 24;

std::vector<Block> blocks_of(const Side& side, const Shape& shape, int64_t episode) {
    std::vector<Block> blocks;
    const int64_t* starts = side.starts + episode * side.task.graphs;
    for (int first = 0, last; first < side.task.graphs; first = last) {
        last = first + 1;
        while (last < side.task.graphs && starts[last + 1] - starts[first] <= BLOCK_ROWS) ++last;
        const int64_t row = starts[first], rows = starts[last] - row;
        blocks.push_back({last - first, static_cast<int>(rows), first, starts + first, side.edges + row, side.sources,
                          side.inputs + row * 2 * shape.features, side.codes ? side.codes + row : nullptr});
    }
    return blocks;
}

// What a step of descent leaves behind for its Hessian.
struct Step {
    Point here;
    Sums sums;
    std::vector<Pass> passes;

    Step(const Shape& shape, const float* weights, Arena& arena)
        : here{Weights(shape, weights), Factors(shape, arena)}, sums(shape, arena) {}
};

// The gradient of the loss on some graphs, a vector, and the logits [M, N], each where it is asked for.
Step gradient(const Shape& shape, const std::vector<Block>& blocks, const Task& task, const float* weights, bool keep, float* found, float* logits, Arena& arena) {
    Step step(shape, weights, arena);
    multiply_weights(shape, step.here.weights, step.here.factors);
    for (const Block& block : blocks) {
        const Arena::Mark mark = arena.mark();
        const Pass pass(shape, block, arena);
        forward(block, shape, step.here.weights, step.here.factors, pass);
        for (int g = 0; logits && g < block.graphs; ++g)
            std::memcpy(logits + static_cast<long>(block.first_graph + g) * shape.way, pass.scored.share + g * shape.scores(), 4 * shape.way);
        if (found) {
            cross_entropy(block, shape, task, pass.scored);
            backward(block, shape, step.here.weights, step.here.factors, pass, step.sums, arena);
        }
        if (keep)
            step.passes.push_back(pass);
        else
            arena.back_to(mark);
    }
    if (found) gradient_of(shape, step.here.weights, step.sums, found, arena);
    return step;
}

// The derivative of that gradient in a direction; both are vectors.
void hessian_product(const Shape& shape, const std::vector<Block>& blocks, const Task& task, const Step& step, const float* direction, float* found, Arena& arena) {
    const Point along{Weights(shape, direction), Factors(shape, arena)};
    const Sums sums(shape, arena);
    multiply_weights_push(shape, step.here.weights, along.weights, along.factors);
    for (size_t i = 0; i < blocks.size(); ++i) {
        const Arena::Mark mark = arena.mark();
        const Pass& at = step.passes[i];
        Pass by(shape, blocks[i], arena);
        forward_push(blocks[i], shape, step.here, along, at, by);
        cross_entropy_push(blocks[i].graphs, shape, task, at.scored, by.scored);
        backward_push(blocks[i], shape, step.here, along, at, by, sums, arena);
        arena.back_to(mark);
    }
    gradient_push(shape, step.here.weights, along.weights, step.sums, sums, found, arena);
}

void episode(const Shape& shape, const Side& supports, const Side& queries, int64_t index, int steps, float lr, bool second_order, const float* start, float* logits, float* grad, Arena& arena) {
    const std::vector<Block> support_blocks = blocks_of(supports, shape, index);
    const long size = Weights(shape, start).end - start;
    const bool keep = grad && second_order;  // weights of a step and its passes are needed again
    std::vector<Step> taken;
    taken.reserve(steps);
    float *weights = arena.take(size), *found = arena.take(size);
    std::memcpy(weights, start, 4 * size);
    for (int i = 0; i < steps; ++i) {
        float* next = keep ? arena.take(size) : weights;
        const Arena::Mark mark = arena.mark();
        Step step = gradient(shape, support_blocks, supports.task, weights, keep, found, nullptr, arena);
        if (keep) {
            taken.push_back(std::move(step));
            std::memcpy(next, weights, 4 * size);
        } else {
            arena.back_to(mark);
        }
        add_scaled(size, -lr, found, next);
        weights = next;
    }
    const Arena::Mark mark = arena.mark();
    gradient(shape, blocks_of(queries, shape, index), queries.task, weights, false, grad, logits, arena);
    for (int i = steps - 1; keep && i >= 0; --i) {
        arena.back_to(mark);
        hessian_product(shape, support_blocks, supports.task, taken[i], grad, found, arena);
        add_scaled(size, -lr, found, grad);
    }
}

}  // namespace maml

namespace {

maml::Shape shape_of(const int64_t* sizes) {
    const auto size = [sizes](int i) { return static_cast<int>(sizes[i]); };
    return {size(0), size(1), size(2), size(3), sizes[4] != 0, sizes[5] != 0};
}

}  // namespace

// W, how many weights a network of these sizes has.
extern "C" int fsgc_maml_weights(const int64_t* sizes) {
    const float* start = nullptr;
    return static_cast<int>(maml::Weights(shape_of(sizes), start).end - start);
}

// Some episodes.
//
// sizes: width, features, convolutions, way, whether pooling takes the mean, whether ε is learned, supports and queries
//     of a class, steps, whether the gradient is taken through the steps.
// *_inputs, *_codes, *_starts, *_edges, *_sources: see Side and Block.
// start: the weights, [W], as flat_weights.py orders them.
// logits: of the queries after the steps, [B, N·Q, N].
// grads: at `start`, of each episode's mean cross-entropy of queries, [B, W]; or nowhere.
extern "C" void fsgc_maml_episodes(
    const int64_t* sizes, float lr, int64_t episodes,
    const float* support_inputs, const int64_t* support_codes, const int64_t* support_starts, const int64_t* support_edges, const int64_t* support_sources,
    const float* query_inputs, const int64_t* query_codes, const int64_t* query_starts, const int64_t* query_edges, const int64_t* query_sources,
    const float* start, float* logits, float* grads) {
    using namespace maml;
    const Shape shape = shape_of(sizes);
    const int shots = static_cast<int>(sizes[6]), asked = static_cast<int>(sizes[7]), steps = static_cast<int>(sizes[8]);
    const Side supports{support_inputs, support_codes, support_starts, support_edges, support_sources, {shape.way * shots, shots}};
    const Side queries{query_inputs, query_codes, query_starts, query_edges, query_sources, {shape.way * asked, asked}};
    const long weights = fsgc_maml_weights(sizes);
    thread_local Arena arena;  // fresh memory would be faulted in page by page
    for (int64_t i = 0; i < episodes; ++i) {
        arena.back_to({0, 0});
        float* scores = logits + i * queries.task.graphs * shape.way;
        episode(shape, supports, queries, i, steps, lr, sizes[9] != 0, start, scores, grads ? grads + i * weights : nullptr, arena);
    }
    if (arena.size() > MOST_KEPT) arena = Arena();
}
