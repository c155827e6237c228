// One episode: where its numbers lie, its steps, and its way in from Python's arrays and back.
#include "tuning_rows.h"
#include "tuning_links.h"
#include "tuning_layers.h"

// How many graphs, `least` or more, the links of `targets` graphs lead to; they are in order of their distance.
INLINE long reached(long targets, long places, const int64_t* source, const uint8_t* taken, long least) {
    for (long i = 0; i < targets * places; ++i)
        if (taken[i] && source[i] >= least) least = source[i] + 1;
    return least;
}

// One episode.
struct Episode {
    const Sizes& sizes;
    long wide;
    FirstLayer first;
    SecondLayer second;
    Head head;
    float *first_norm, *second_norm;
    Tuned small;
    float* small_grad;
    long small_count;

    Episode(const Sizes& all_sizes, const Rates& rates, const Arrays& arrays, long episode, long kept)
        : sizes(all_sizes), wide(up(all_sizes.width, PANEL)) {
        const long S = sizes.supports, H = sizes.heads, k = sizes.places;
        const long columns = up(S, LANES), step = up(S + 2 * H, LANES);
        const int64_t* source = arrays.first_source + episode * sizes.near * k;
        const uint8_t* taken = arrays.first_taken + episode * sizes.near * k;
        const int64_t* to_supports = arrays.second_source + episode * S * k;
        const uint8_t* taken_by_supports = arrays.second_taken + episode * S * k;
        const long near = reached(S, k, to_supports, taken_by_supports, S), far = reached(near, k, source, taken, near);
        first.graphs = far;
        first.kept = kept;
        first.links = {near, far, k, H, rates.first_slope, source, taken};
        second.links = {S, near, k, H, rates.second_slope, to_supports, taken_by_supports};
        first.wide = second.wide = head.wide = wide;
        second.supports = head.supports = S;
        second.columns = head.columns = columns;
        second.step = head.step = step;
        head.hidden = sizes.hidden;
        head.classes = sizes.classes;
        head.labels = arrays.labels;
    }

    void place(Memory& memory) {
        const long H = sizes.heads, S = sizes.supports, near = first.links.targets, far = first.graphs;
        const long columns = second.columns, step = second.step, hidden = sizes.hidden, classes = sizes.classes;
        for (auto [tuned, count] : {std::pair{&first.weight, H * wide * first.kept}, {&second.weight, wide * H * wide}, {&head.weight, hidden * wide}})
            *tuned = {memory.take(count), memory.take(count), memory.take(count)};
        const long of_layer = (2 * H + 1) * wide;
        small_count = up(2 * of_layer + hidden + classes * hidden + classes, LANES);
        small = {memory.take(small_count), memory.take(small_count), memory.take(small_count)};
        small_grad = memory.take(small_count);
        first.vectors = {small.weight, small.weight + 2 * H * wide, small_grad, small_grad + 2 * H * wide};
        second.vectors = {first.vectors.attention + of_layer, first.vectors.bias + of_layer, small_grad + of_layer, first.vectors.grad_bias + of_layer};
        head.hidden_bias = small.weight + 2 * of_layer;
        head.out_weight = head.hidden_bias + hidden;
        head.out_bias = head.out_weight + classes * hidden;
        head.grad_hidden_bias = small_grad + 2 * of_layer;
        head.grad_out_weight = head.grad_hidden_bias + hidden;
        head.grad_out_bias = head.grad_out_weight + classes * hidden;
        first.links.place(memory);
        second.links.place(memory);
        first.x = memory.take(far * first.kept);
        first.x_tiles = memory.take(far * first.kept);
        first.rows = memory.take(H * far * wide);
        first.grad_rows = memory.take(H * far * wide);
        second.x = first.y = memory.take(near * wide);
        second.grad_x = first.grad_y = memory.take(near * wide);
        first_norm = memory.take(near);
        second_norm = memory.take(columns);
        second.scorers = memory.take(2 * H * wide);
        second.right = memory.take((S + 2 * H) * H * wide);
        second.sums = memory.take(H * wide * columns);
        second.z = memory.take(wide * step);
        second.grad_z = memory.take(wide * step);
        second.grad_sums = memory.take(S * H * wide);
        for (float** part : {&head.h, &head.keep, &head.grad_h}) *part = memory.take(hidden * columns);
        head.error = memory.take(classes * columns);
        head.z_rows = memory.take(S * wide);
    }

    // visit(padded place, plain place, count) for the runs of numbers of each array but the first layer's matrix.
    template <class Visit>
    void each_run(const Arrays& arrays, long episode, Visit visit) {
        const long H = sizes.heads, d = sizes.width, hidden = sizes.hidden, classes = sizes.classes;
        const auto rows = [&](float* padded, long padded_step, int which, long count, long columns) {
            float* plain = arrays.weights[which] + episode * count * columns;
            for (long r = 0; r < count; ++r) visit(padded + r * padded_step, plain + r * columns, columns);
        };
        rows(first.vectors.attention, wide, 1, 2 * H, d);
        rows(first.vectors.bias, wide, 2, 1, d);
        float* by_output = arrays.weights[3] + episode * d * H * d;
        for (long r = 0; r < d; ++r)
            for (long h = 0; h < H; ++h) visit(second.weight.weight + (r * H + h) * wide, by_output + (r * H + h) * d, d);
        rows(second.vectors.attention, wide, 4, 2 * H, d);
        rows(second.vectors.bias, wide, 5, 1, d);
        rows(head.weight.weight, wide, 6, hidden, d);
        rows(head.hidden_bias, hidden, 7, 1, hidden);
        rows(head.out_weight, hidden, 8, classes, hidden);
        rows(head.out_bias, classes, 9, 1, classes);
    }

    // visit(padded place, plain place) for each number of the first layer's matrix of which the column is kept.
    template <class Visit>
    void each_first(const Arrays& arrays, long episode, const std::vector<long>& columns, Visit visit) {
        const long H = sizes.heads, d = sizes.width, inputs = sizes.inputs;
        float* plain = arrays.weights[0] + episode * H * d * inputs;
        for (long h = 0; h < H; ++h)
            for (long o = 0; o < d; ++o) {
                const long output = h * wide + o;
                float* panel = first.weight.weight + output / PANEL * PANEL * first.kept + output % PANEL;
                for (size_t i = 0; i < columns.size(); ++i) visit(panel[i * PANEL], plain[(h * d + o) * inputs + columns[i]]);
            }
    }

    void read_features(const float* x, const std::vector<long>& columns) {
        for (long u = 0; u < first.graphs; ++u)
            for (size_t i = 0; i < columns.size(); ++i) {
                const float value = x[u * sizes.inputs + columns[i]];
                first.x[i * first.graphs + u] = value;
                first.x_tiles[(i / BLOCK * first.graphs + u) * BLOCK + i % BLOCK] = value;
            }
    }

    INLINE void step(long t, const Rates& rates, const Arrays& arrays) {
        const long S = sizes.supports, H = sizes.heads, k = sizes.places;
        const float* first_keep = arrays.first_keep + t * k * sizes.graphs * H;
        const float* second_keep = arrays.second_keep + t * k * S * H;
        const float* head_keep = arrays.head_keep + t * S * sizes.hidden;
        const Adam adam = Adam::of_step(t + 1, rates.lr);
        std::memset(small_grad, 0, sizeof(float) * small_count);
        first.forward(first_keep, sizes.graphs);
        if (sizes.normalise) normalise(first.links.targets, wide, first.y, first_norm);
        second.forward(second_keep);
        if (sizes.normalise) normalise_columns(wide, second.columns, second.z, second.step, second_norm);
        head.backward(head_keep, second.z, second.grad_z, adam);
        if (sizes.normalise) normalise_columns_backward(wide, second.columns, second.z, second.step, second_norm, second.grad_z);
        second.backward(second_keep, adam);
        if (sizes.normalise) normalise_backward(first.links.targets, wide, first.y, first_norm, first.grad_y);
        first.backward(first_keep, sizes.graphs, adam);
        adam.update(small_count, small_grad, small.weight, small.mean, small.square);
    }
};

// The columns of features that are not zero in all `graphs`.
std::vector<long> used_columns(long graphs, long inputs, const float* x) {
    std::vector<long> used;
    for (long i = 0; i < inputs; ++i)
        for (long u = 0; u < graphs; ++u)
            if (x[u * inputs + i] != 0) {
                used.push_back(i);
                break;
            }
    return used;
}


// Returns 0, or 1 if there is not enough memory.
inline int tune_all(const Sizes* sizes, const Rates* rates, const Arrays* arrays) {
    float* base = nullptr;
    long size = 0;
    for (long e = 0; e < sizes->episodes; ++e) {
        const float* x = arrays->x + e * sizes->far * sizes->inputs;
        Episode episode(*sizes, *rates, *arrays, e, 0);
        const std::vector<long> columns = used_columns(episode.first.graphs, sizes->inputs, x);
        episode.first.kept = up(columns.size(), BLOCK);
        Memory count{nullptr, 0};
        episode.place(count);
        if (count.used > size) {
            std::free(base);
            size = count.used;
            base = static_cast<float*>(std::aligned_alloc(64, up(4 * size, 64)));
            if (!base) return 1;
        }
        std::memset(base, 0, sizeof(float) * count.used);
        Memory memory{base, 0};
        episode.place(memory);
        episode.read_features(x, columns);
        episode.each_first(*arrays, e, columns, [](float& padded, float& plain) { padded = plain; });
        episode.each_run(*arrays, e, [](float* padded, float* plain, long n) { std::memcpy(padded, plain, sizeof(float) * n); });
        for (long t = 0; t < sizes->steps; ++t) episode.step(t, *rates, *arrays);
        episode.each_first(*arrays, e, columns, [](float& padded, float& plain) { plain = padded; });
        episode.each_run(*arrays, e, [](float* padded, float* plain, long n) { std::memcpy(plain, padded, sizeof(float) * n); });
    }
    std::free(base);
    return 0;
}
