package config

import "time"

// Config is a resolved configuration. The parameters of a run after any step are a function of its configuration alone.
//
// The tags describe the keys, as package setting documents. A source is Becker-Ehmck et al. (2019), or the authors'
// published code of the model's predecessor, which decides what the paper leaves open.
//
// Copies share the settings of their kinds. Clone makes a copy that may be changed.
type Config struct {
	Preset string `yaml:"preset" bits:"same" doc:"the preset on which this configuration was built"`
	Seed   uint64 `yaml:"seed" doc:"seed of every random number of the run"`

	Env     Env     `yaml:"env" doc:"the system that is simulated"`
	Model   Model   `yaml:"model" doc:"the state-space model"`
	Optim   Optim   `yaml:"optim" doc:"the optimiser"`
	Train   Train   `yaml:"train" doc:"the training loop"`
	Eval    Eval    `yaml:"eval" doc:"the evaluation after training"`
	Cluster Cluster `yaml:"cluster" doc:"how workers and coordinator talk; no value here changes a result"`

	kinds *Kinds
}

// Env describes the data: the keys of every kind, and the settings of the chosen kind.
type Env struct {
	Kind     string `yaml:"kind" doc:"where sequences come from" source:"paper, section FitzHugh-Nagumo"`
	Episodes int    `yaml:"episodes" want:"[1,16777216]" doc:"distinct training episodes" source:"paper, FHN: 100"`
	Length   int    `yaml:"length" want:"[4,100000]" doc:"time steps of a training episode" source:"paper, FHN: 400"`
	Window   int    `yaml:"window" want:"[0,100000]" doc:"time steps of the windows cut from an episode; 0: the whole episode" source:"authors' code: 40"`

	Settings any // of the kind, a pointer to the struct that its Kind makes
}

// Model is the chosen family of models, with its settings.
type Model struct {
	Kind string `yaml:"kind" doc:"family of models"`

	Settings any // of the kind, a pointer to the struct that its Kind makes
}

// Optim describes Adam, its learning rate and the clipping of the gradient. The rate of update i (from 0) is
// rate*decay^floor(i/decay_every), or with the cosine rate*(final + (1-final)*(1+cos(pi*i/train.horizon))/2) before
// train.horizon and rate*final after it; during the warm-up it is multiplied by (i+1)/warmup.
type Optim struct {
	Rate       float64 `yaml:"rate" want:"(0,10]" doc:"learning rate of the first update" source:"paper, appendix Training: 5e-4"`
	Schedule   string  `yaml:"schedule" was:"exponential" ends:"train.horizon" values:"exponential cosine" doc:"course of the learning rate: exponential falls by decay every decay_every updates, cosine along half a cosine to final at train.horizon"`
	Decay      float64 `yaml:"decay" want:"(0,1]" doc:"factor on the learning rate, exponential only" source:"paper, appendix Training: 0.95, 0.97 or 0.98"`
	DecayEvery uint64  `yaml:"decay_every" want:"[1,1000000000]" doc:"updates between two decays, exponential only" source:"paper, appendix Training: 2000"`
	Final      float64 `yaml:"final" only:"optim.schedule=cosine" want:"[0,1]" doc:"share of the learning rate at the end of the cosine, cosine only"`
	Warmup     uint64  `yaml:"warmup" was:"0" want:"[0,1000000000]" doc:"first updates, over which the learning rate rises linearly; 0: none"`
	Clip       float64 `yaml:"clip" want:"[0,1000000]" doc:"largest global norm of the gradient; 0: no such limit" source:"authors' code: 1"`
	ClipFactor float64 `yaml:"clip_factor" was:"0" want:"[0,1000000]" doc:"largest global norm of the gradient as a multiple (at least 1) of the running norm of the updates before, each after clipping; 0: no such limit"`
	Outlier    float64 `yaml:"outlier" was:"0" want:"[0,1000000000]" doc:"an update is left out if the norm of its gradient is more than so many times (above 1) the running norm, from the hundredth update on; 0: none is"`
	Factors    string  `yaml:"factors" was:"\"\"" doc:"factors on the learning rate of groups of parameters, each a parameter or a first part of names, as in transition.Q=10,encoder=0.5; the longest match counts; empty: none"`
	Beta1      float64 `yaml:"beta1" want:"[0,1)" doc:"decay of Adam's first moment"`
	Beta2      float64 `yaml:"beta2" want:"[0,1)" doc:"decay of Adam's second moment"`
	Epsilon    float64 `yaml:"epsilon" want:"(0,1]" doc:"added to the root of Adam's second moment"`
	Average    float64 `yaml:"average" was:"0" want:"[0,1)" doc:"memory of the exponential average of the parameters over updates (Polyak), which is validated and evaluated in place of the last parameters; 0: no average"`
}

// Train describes the loop.
type Train struct {
	Steps              uint64 `yaml:"steps" bits:"same" want:"[1,1000000000]" doc:"updates"`
	Horizon            uint64 `yaml:"horizon" was:"0" want:"[0,1000000000]" doc:"updates after which schedules that end are at their end (optim.schedule=cosine, anneal.until); 0: as many as train.steps at the beginning of the run"`
	Batch              int    `yaml:"batch" want:"[1,1048576]" doc:"sequences per update" source:"paper, FHN: 32"`
	Shards             int    `yaml:"shards" want:"[1,65536]" doc:"pieces of a batch that workers compute; a power of two that divides batch"`
	Gradients          string `yaml:"gradients" was:"float32" values:"float32 int16 int8" doc:"how gradients travel from workers: float32, or integers of 16 or 8 bits with a scale for each 256 parameters, which halves or quarters their bytes and rounds them at random without bias"`
	Parameters         string `yaml:"parameters" was:"float32" values:"float32 delta16 delta8" doc:"how parameters travel to workers: float32, or as what a step changes in them, rounded to integers of 16 or 8 bits with a scale for each 256, which halves or quarters their bytes; what is rounded off is part of the next step's"`
	ValidateEvery      uint64 `yaml:"validate_every" bits:"same" want:"[0,1000000000]" doc:"updates between two validations; 0: only at the end"`
	Patience           uint64 `yaml:"patience" bits:"same" want:"[0,1000000]" doc:"validations without a lower loss after which training ends before train.steps; the best parameters are kept; 0: train all steps"`
	ValidationEpisodes int    `yaml:"validation_episodes" bits:"same" want:"[1,1048576]" doc:"sequences per validation, a multiple of shards"`
	CheckpointEvery    uint64 `yaml:"checkpoint_every" bits:"same" want:"[0,1000000000]" doc:"updates between two checkpoints; 0: only at the end"`

	Method        string  `yaml:"method" was:"synchronous" values:"synchronous diloco" doc:"synchronous: gradients are exchanged at every update; diloco: replicas make updates by themselves and exchange what they have moved (Douillard et al. 2023), for slow links"`
	Replicas      int     `yaml:"replicas" only:"train.method=diloco" want:"[0,65536]" doc:"replicas that train apart, each on its part of the batch, diloco only; a power of two that divides shards"`
	LocalSteps    uint64  `yaml:"local_steps" only:"train.method=diloco" want:"[0,1000000]" doc:"updates of a replica between two exchanges, diloco only; what counts updates (steps, validate_every, checkpoint_every) is a multiple"`
	OuterRate     float64 `yaml:"outer_rate" only:"train.method=diloco" want:"(0,10]" doc:"rate of the update from the mean of what the replicas have moved, diloco only" source:"Douillard et al. 2023: 0.7"`
	OuterMomentum float64 `yaml:"outer_momentum" only:"train.method=diloco" want:"[0,1)" doc:"Nesterov momentum of that update, diloco only" source:"Douillard et al. 2023: 0.9"`
}

// Eval describes the evaluation protocol.
type Eval struct {
	Horizon      int `yaml:"horizon" want:"[1,10000]" doc:"time steps predicted" source:"paper, FHN: 30"`
	Samples      int `yaml:"samples" want:"[1,100000]" doc:"latent rollouts averaged into one prediction"`
	FilterWindow int `yaml:"filter_window" want:"[0,100000]" doc:"time steps filtered before a prediction; 0: the whole past"`
	Importance   int `yaml:"importance" was:"0" want:"[0,100000]" doc:"draws of every latent variable for the importance-weighted bound, which a validation then has beside the ELBO; 0: none"`
}

// Cluster describes the message path.
type Cluster struct {
	FailureDetection time.Duration `yaml:"failure_detection" want:"[0.1,3600]" doc:"silence after which a worker's shards go to another"`
	Chunk            int           `yaml:"chunk" want:"[1024,1044480]" doc:"bytes of a tensor per message, a multiple of 4; NATS carries 1 MiB by default"`
	Credit           int           `yaml:"credit" want:"[1024,1073741824]" doc:"bytes of results in flight towards the coordinator"`
	Exchange         string        `yaml:"exchange" was:"star" values:"star sharded auto" doc:"how gradients get to the coordinator: star, it pulls and sums those of all workers; sharded, workers sum sections of them and it pulls one sum, for many workers on hosts with brokers of their own; auto, what is faster as far as was measured"`
	Audit            float64       `yaml:"audit" want:"[0,1]" doc:"share of the blocks of shards that a second worker computes, too, before they count: a worker whose bits differ is cut off"`
}
