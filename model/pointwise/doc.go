// Package pointwise holds the models without a latent state. They predict an observation from those before it, with
// Gaussian noise of one standard deviation σ per dimension, which is learned.
//
// Static predicts that nothing changes (Becker-Ehmck et al. 2019, table "Mean squared error on predicting future
// observations", row Static): the random walk
//
//	x_t = x_{t−1} + N(0, diag σ²)
//
// whose best prediction at every horizon is the last observation. Its only parameters are the σ. It does not use
// controls.
//
// Linear is a linear process with controls:
//
//	x_t = x_{t−1} + x_{t−1}·A + u_t·B + c + N(0, diag σ²)
//
// Its likelihood is greatest at the least squares of x_t on x_{t−1}, u_t and 1, dimension by dimension, with σ the root
// of what is left. It starts from A = B = c = 0, where nothing changes.
//
// Naive repeats the last season of m steps, x_t = x_{t−m} + N(0, diag σ²). It has nothing to learn but σ, which one
// sweep over the recordings measures: it is the simple rule as a model that forecasts, is tested and served as others.
//
// Static and Linear are fitted by gradient, as most families are, and not in closed form: so they train on the same
// workers and any data, resume and are saved by the same commands, and training sequences never have to be gathered in
// one place.
//
// LSTM is the vanilla recurrent baseline (Hochreiter and Schmidhuber 1997; Becker-Ehmck et al. 2019, the same table,
// row LSTM): one layer of long short-term memory that predicts the next observation from all before it, trained on one
// step ahead with the true past ("teacher forcing"):
//
//	(h_t, c_t) = LSTM(h_{t−1}, c_{t−1}; x_t, u_{t+1});  p(x_{t+1} | x_{1:t}, u_{2:t+1}) = N(x_t + W·h_t + b, diag σ²)
//
// With equal σ the maximum likelihood is the least squared error. A Bernoulli emission has logits W·h_t + b. Beyond the
// data a forecast feeds its own predictions back.
//
// The package does not know where batches come from.
package pointwise
