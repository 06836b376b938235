package config

import "time"

// Config is a resolved configuration. A run's parameters after any step are a
// function of it alone.
//
// The tags are the single description of a key: yaml is its name, want the range
// of a number (interval notation), values the words it may take, doc its meaning
// and unit, and source where the value of the paper stands: Becker-Ehmck et al.
// (2019), or the authors' published code of the predecessor of the model, which
// settles what the paper leaves open.
type Config struct {
	Preset string `yaml:"preset" doc:"the preset on which this configuration was built"`
	Seed   uint64 `yaml:"seed" doc:"seed of every random number of the run"`

	Env     Env     `yaml:"env" doc:"the system that is simulated"`
	Model   Model   `yaml:"model" doc:"the state-space model"`
	Optim   Optim   `yaml:"optim" doc:"the optimiser"`
	Anneal  Anneal  `yaml:"anneal" doc:"temperatures and weights of the switches"`
	Train   Train   `yaml:"train" doc:"the training loop"`
	Eval    Eval    `yaml:"eval" doc:"the evaluation after training"`
	Cluster Cluster `yaml:"cluster" doc:"how workers and coordinator talk; no value here changes a result"`
}

// Env describes the data.
type Env struct {
	Kind         string  `yaml:"kind" values:"fhn maze reacher ball hopper files noise" doc:"fhn: FitzHugh-Nagumo oscillator; maze: agents among walls; reacher: two-link arm; ball: images of a ball in a box; hopper: one-legged robot; files: own data; noise: independent normals" source:"paper, section FitzHugh-Nagumo"`
	Episodes     int     `yaml:"episodes" want:"[1,16777216]" doc:"distinct training episodes" source:"paper, FHN: 100"`
	Length       int     `yaml:"length" want:"[4,100000]" doc:"time steps of a training episode" source:"paper, FHN: 400"`
	Window       int     `yaml:"window" want:"[0,100000]" doc:"time steps of the windows cut from an episode; 0: the whole episode" source:"authors' code: 40"`
	DT           float64 `yaml:"dt" want:"[0,10]" doc:"seconds per step, maze and ball only; 0: the environment's own (maze: 0.05, ball: 0.2)"`
	Variant      string  `yaml:"variant" values:"a b" doc:"layout and constants, maze only; a: long walls, damped; b: four stubs, elastic"`
	Balls        int     `yaml:"balls" want:"[0,32]" doc:"agents, maze only; 0: three" source:"paper, maze: 3"`
	Walls        bool    `yaml:"walls" doc:"draw the walls into the images, ball only"`
	Observations int     `yaml:"observations" want:"[0,65536]" doc:"observed dimensions; noise only, 0 elsewhere (environment or files decide)"`
	Controls     int     `yaml:"controls" want:"[0,65536]" doc:"control dimensions; noise only, 0 elsewhere (environment or files decide)"`

	Files      string  `yaml:"files" doc:"own data, kind files only: files, folders or globs, separated by commas"`
	Normalise  string  `yaml:"normalise" doc:"scaling of own data: auto (each channel to zero mean and unit deviation over the training episodes), none, or a JSON file with means and deviations"`
	Validation float64 `yaml:"validation" want:"[0,1)" doc:"share of own episodes for validation, where the files give no split" source:"authors' code: 0.1"`
	Test       float64 `yaml:"test" want:"[0,1)" doc:"share of own episodes that are held out, where the files give no split" source:"authors' code: 0.1"`
	Hash       string  `yaml:"hash" doc:"content hash of the scaled data set, filled in when a run begins"`
}

// Model describes the networks and densities.
type Model struct {
	Kind                string  `yaml:"kind" values:"slds" doc:"slds: deep switching linear dynamical system"`
	Switching           string  `yaml:"switching" values:"concrete normal" doc:"distribution of the switch: relaxed categorical, or Gaussian mapped to weights" source:"paper, section Inference"`
	Weights             string  `yaml:"weights" values:"softmax sigmoid" doc:"mixing weights of the base systems; sigmoid with concrete is the Binary Concrete" source:"paper, appendix On Scaling Issues"`
	Latent              int     `yaml:"latent" want:"[1,4096]" doc:"dimensions of the latent state z" source:"paper, FHN: 4"`
	Switches            int     `yaml:"switches" want:"[1,4096]" doc:"base systems M, also the dimension of the switch s" source:"paper, FHN: 8"`
	Hidden              int     `yaml:"hidden" want:"[1,65536]" doc:"width of the hidden layers" source:"paper, FHN: 128"`
	Blocks              int     `yaml:"blocks" want:"[0,4]" doc:"residual blocks of encoder, initial network and decoder (the switch transition has at most 1); 0: one dense layer" source:"paper, FHN: one dense layer; others: 2"`
	EncoderHidden       int     `yaml:"encoder_hidden" want:"[0,65536]" doc:"width of the encoder; 0: as hidden"`
	Measurement         string  `yaml:"measurement" values:"lstm mlp" doc:"what infers the switch: backward LSTM over the future, or an MLP on the present (filtering)" source:"paper, section Inference"`
	MeasurementControls bool    `yaml:"measurement_controls" doc:"feed the controls to the switch measurement"`
	InitialObservations int     `yaml:"initial_observations" want:"[1,1024]" doc:"first observations from which the initial state is inferred" source:"paper: 3 or 4"`
	Emission            string  `yaml:"emission" values:"gaussian bernoulli" doc:"density of an observation given z"`
	EmissionSD          string  `yaml:"emission_sd" values:"state constant" doc:"standard deviation of the Gaussian emission: a function of z, or one learned constant per dimension" source:"authors' code: state"`
	Residual            bool    `yaml:"residual" doc:"transition z + A z + B u instead of A z + B u" source:"authors' code: true"`
	Gate                bool    `yaml:"gate" doc:"learned gate between transition and measurement logits of a concrete switch" source:"paper, section Inference"`
	Hard                bool    `yaml:"hard" doc:"discrete switches in the forward pass (straight-through gradients)" source:"paper: off, reported worse"`
	KLSamples           int     `yaml:"kl_samples" want:"[1,1000]" doc:"samples of the Monte Carlo estimate of the switch KL" source:"paper, section Training: 10"`
	VarianceFloor       float64 `yaml:"variance_floor" want:"(0,1]" doc:"added to mixed transition variances" source:"authors' code: 1e-5"`
}

// Optim describes Adam, its learning rate at update i (from 0), rate*decay^floor(i/decay_every),
// and the clipping of the gradient.
type Optim struct {
	Rate       float64 `yaml:"rate" want:"(0,10]" doc:"learning rate of the first update" source:"paper, appendix Training: 5e-4"`
	Decay      float64 `yaml:"decay" want:"(0,1]" doc:"factor on the learning rate" source:"paper, appendix Training: 0.95, 0.97 or 0.98"`
	DecayEvery uint64  `yaml:"decay_every" want:"[1,1000000000]" doc:"updates between two decays" source:"paper, appendix Training: 2000"`
	Clip       float64 `yaml:"clip" want:"[0,1000000]" doc:"largest global norm of the gradient; 0: no clipping" source:"authors' code: 1"`
	Beta1      float64 `yaml:"beta1" want:"[0,1)" doc:"decay of Adam's first moment"`
	Beta2      float64 `yaml:"beta2" want:"[0,1)" doc:"decay of Adam's second moment"`
	Epsilon    float64 `yaml:"epsilon" want:"(0,1]" doc:"added to the root of Adam's second moment"`
}

// Anneal describes the temperature lambda*max(1, start*rate^floor(i/every)) of update i
// and the weight of the switch KL.
type Anneal struct {
	Posterior float64 `yaml:"posterior" want:"(0,100]" doc:"final temperature of the posterior over switches" source:"paper, appendix table of hyperparameters: 0.67"`
	Prior     float64 `yaml:"prior" want:"(0,100]" doc:"final temperature of the prior over switches" source:"paper, appendix table of hyperparameters: 2"`
	Start     float64 `yaml:"start" want:"[1,1000000]" doc:"factor on both temperatures at the first update"`
	Rate      float64 `yaml:"rate" want:"(0,1]" doc:"factor on the temperatures" source:"paper, appendix table of hyperparameters: 0.95"`
	Every     uint64  `yaml:"every" want:"[1,1000000000]" doc:"updates between two factors" source:"paper, appendix table of hyperparameters: 100"`
	KLSwitch  float64 `yaml:"kl_switch" want:"[0,1000]" doc:"weight of the switch KL in the loss" source:"paper, section Training: 0.1"`
}

// Train describes the loop.
type Train struct {
	Steps              uint64 `yaml:"steps" want:"[1,1000000000]" doc:"updates"`
	Batch              int    `yaml:"batch" want:"[1,1048576]" doc:"sequences per update" source:"paper, FHN: 32"`
	Shards             int    `yaml:"shards" want:"[1,65536]" doc:"pieces of a batch that workers compute; a power of two that divides batch"`
	Gradients          string `yaml:"gradients" values:"float32 int16" doc:"how gradients travel from workers: float32, or 16-bit integers with a scale for each 256 parameters, which halves their bytes and rounds them at random without bias"`
	ValidateEvery      uint64 `yaml:"validate_every" want:"[0,1000000000]" doc:"updates between two validations; 0: only at the end"`
	ValidationEpisodes int    `yaml:"validation_episodes" want:"[1,1048576]" doc:"sequences per validation, a multiple of shards"`
	CheckpointEvery    uint64 `yaml:"checkpoint_every" want:"[0,1000000000]" doc:"updates between two checkpoints; 0: only at the end"`

	Method        string  `yaml:"method" values:"synchronous diloco" doc:"synchronous: gradients are exchanged at every update; diloco: replicas make updates by themselves and exchange what they have moved (Douillard et al. 2023), for slow links"`
	Replicas      int     `yaml:"replicas" want:"[0,65536]" doc:"replicas that train apart, each on its part of the batch, diloco only; a power of two that divides shards"`
	LocalSteps    uint64  `yaml:"local_steps" want:"[0,1000000]" doc:"updates of a replica between two exchanges, diloco only; what counts updates (steps, validate_every, checkpoint_every) is a multiple"`
	OuterRate     float64 `yaml:"outer_rate" want:"(0,10]" doc:"rate of the update from the mean of what the replicas have moved, diloco only" source:"Douillard et al. 2023: 0.7"`
	OuterMomentum float64 `yaml:"outer_momentum" want:"[0,1)" doc:"Nesterov momentum of that update, diloco only" source:"Douillard et al. 2023: 0.9"`
}

// Eval describes the evaluation protocol.
type Eval struct {
	Horizon      int    `yaml:"horizon" want:"[1,10000]" doc:"time steps predicted" source:"paper, FHN: 30"`
	Samples      int    `yaml:"samples" want:"[1,100000]" doc:"latent rollouts averaged into one prediction"`
	FilterWindow int    `yaml:"filter_window" want:"[0,100000]" doc:"time steps filtered before a prediction; 0: the whole past"`
	Rollout      string `yaml:"rollout" values:"sample mean mode" doc:"switch of a rollout: a sample of the prior, its noise-free value, or the most likely system"`
}

// Cluster describes the message path.
type Cluster struct {
	FailureDetection time.Duration `yaml:"failure_detection" want:"[0.1,3600]" doc:"silence after which a worker's shards go to another"`
	Chunk            int           `yaml:"chunk" want:"[1024,1044480]" doc:"bytes of a tensor per message, a multiple of 4; NATS carries 1 MiB by default"`
	Credit           int           `yaml:"credit" want:"[1024,1073741824]" doc:"bytes of results in flight towards the coordinator"`
	Audit            float64       `yaml:"audit" want:"[0,1]" doc:"share of the blocks of shards that a second worker computes, too, before they count: a worker whose bits differ is cut off"`
}
